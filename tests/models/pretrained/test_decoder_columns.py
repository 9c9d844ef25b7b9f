"""What a decoder is asked is documented, and what the documentation says of decoders alone is asked and shown."""

import re

import pytest

import attest
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.sink import WITHOUT
from tests.docs.test_evidence_columns import IDENTITY, type_of
from tests.models.pretrained.tiny import batch, tiny

ASKED = {"E1": {}, "E2": {"permutations": 5}, "E8": {}, "E9": {"draws": 1}, "E10": {}, "E13": {}, "E16": {}}


@pytest.fixture(scope="module", params=[3, 1], ids=["classes", "one number"])
def tried(request):
    tokens, mask = batch()
    texts = [{"token_ids": tokens, "mask": mask, "label": tokens[:, 0] % 3}]
    return attest.trial(tiny("llama", num_labels=request.param), texts, ASKED, progress=False)


def expected(tried, experiment, names):
    """Those of the documented names that columns of this trial have: of a model that says a number, or of classes."""
    named, of_number = EXPERIMENTS[experiment].of_numbers.named, "prediction" in tried.table()
    return {name for name in names if (name in named({name: None}) if of_number else not name.startswith("moved"))}


@pytest.mark.whole("a report of all experiments")
@pytest.mark.parametrize("experiment", ASKED)
def test_every_column_of_a_decoder_is_documented_and_none_of_decoders_is_missing(tried, experiment):
    table, spec = tried.table(experiment), EXPERIMENTS[experiment]
    columns = {name: spec.column(re.sub(r"_layer\d+$", "", name)) for name in {*table} - IDENTITY - {"prediction"}}
    assert [name for name, column in columns.items() if column is None] == []
    assert {name: column.type for name, column in columns.items()} == {name: type_of(table[name]) for name in columns}
    of_decoders = [column for column in spec.columns if column.only == "decoders"]
    there = expected(tried, experiment, [column.name for column in of_decoders])
    assert [each.name for each in of_decoders if each.name in there and not any(map(each.fits, columns))] == []


@pytest.mark.whole("a report of all experiments")
@pytest.mark.parametrize("experiment", [name for name in ASKED if name != "E16"])
def test_the_numbers_without_the_first_token_stand_in_the_report(tried, tmp_path, experiment):
    every = [each for each in EXPERIMENTS[experiment].measures if each.name.endswith(WITHOUT)]
    there = expected(tried, experiment, [each.name for each in every])
    measures = [each for each in every if each.name in there]
    assert measures
    page = tried.report(tmp_path / "trial.html").read_text(encoding="utf-8")
    for measure in measures:
        assert f"{experiment}/{measure.name}/mean" in tried.summary
        assert measure.title.replace("'", "&#39;") in page
