"""``summary.json`` is as its schema says, of runs and of trials."""

import json
import re

import jsonschema
import pytest

import attest
from attest.report.collection import within
from attest.report.measured import scale_of
from attest.report.summary import SCHEMA, SCORES, VERSION
from tests.models.pretrained.tiny import TEXTS


@pytest.fixture(scope="module")
def schema():
    found = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def test_the_version_is_that_of_the_schema(schema):
    assert schema["properties"]["version"]["const"] == VERSION


@pytest.fixture(scope="module", params=["run", "trial"])
def summary(request):
    if request.param == "run":
        folder = request.getfixturevalue("small_run")
    else:
        model, tokenizer = map(request.getfixturevalue, ("model", "tokenizer"))
        options = {"tokenizer": tokenizer, "labels": [1, 0, 0, 0, 1], "progress": False}
        tried = attest.trial(model, TEXTS, {"E2": {"permutations": 1}, "E8": {}}, **options)
        folder = tried.folder
    return json.loads(folder.summary.read_text())


def test_every_number_is_as_the_schema_says(schema, summary):
    jsonschema.validate(summary, schema)
    described = [pattern for pattern in schema["patternProperties"] if pattern != "/"]
    unknown = [key for key in summary if not any(re.search(pattern, key) for pattern in described)]
    assert {*unknown} <= {"verdict", "version"}
    assert sum(key.startswith("E2/") for key in summary) > 5


@pytest.mark.parametrize(
    "change", [{"E2/tvd_median/mean": "0.1"}, {"mine/of/my/own": [1]}, {"version": VERSION + 1}, {"version": None}]
)
def test_what_is_not_as_the_schema_says_is_refused(schema, summary, change):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(summary | change, schema)


@pytest.mark.parametrize("key", SCORES)
def test_intervals_of_scores_end_where_the_scores_do(key):
    least, most = SCORES[key].range
    assert within(key, -9, 9) == (max(least, -9), min(most, 9))
    assert scale_of(key) == ((-1, 1) if key in ("test/pearson", "test/spearman") else (0, 1))
