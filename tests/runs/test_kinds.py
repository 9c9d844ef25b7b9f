"""What the model of a folder decides: as its settings say, or, in older folders, as its tables show."""

import pandas as pd
import pytest
import yaml

from attest.core.errors import AttestError
from attest.core.kinds import CLASSES, KINDS, LABELS, NUMBER, SPANS, TAGS
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_json, read_yaml, write_json, write_table, write_text
from attest.runs.kinds import kind_in
from tests.report.made import decided, made_run, tagged

ONE = decided([0, 1], [0, 1])
OLDER = {
    "texts": (ONE, CLASSES),
    "sentences": (tagged([[0]], [[0]]), TAGS),
    "numbers": (ONE.drop(columns="predicted").assign(prediction=[0.1, 0.2]), NUMBER),
    "pairs of a text and a label": (ONE.assign(text=0, asked=["joy", "fear"]), LABELS),
    "answers": (ONE.assign(answer=["Ann", "Bob"]), SPANS),
    "no table": (None, CLASSES),
}


def of_trial(path, kind, rows=None):
    folder = made_run(path, {}, rows)
    trial = {"model": "a.Model", "texts": 2, "experiments": {}, "decides": kind, "attest": "0"}
    write_text(folder.config, yaml.safe_dump(read_yaml(folder.config) | {"trial": trial}))
    return folder


@pytest.mark.parametrize("shown", OLDER)
def test_an_older_folder_shows_its_kind_by_its_table(tmp_path, shown):
    rows, kind = OLDER[shown]
    assert kind_in(RunContents(made_run(tmp_path, {}, rows))) == kind


@pytest.mark.parametrize("name", KINDS)
def test_what_the_settings_say_goes_before_what_a_table_shows(tmp_path, name):
    for place, (rows, _) in enumerate(OLDER.values()):
        assert kind_in(RunContents(of_trial(tmp_path / str(place), name, rows))).name == name


def test_a_folder_without_settings_is_read_by_its_table(tmp_path):
    folder = RunFolder(tmp_path)
    write_table(folder.evidence("instances"), pd.DataFrame({"id": [0], "prediction": [0.5]}))
    assert kind_in(RunContents(folder)) == NUMBER


def test_an_unknown_kind_is_refused(tmp_path):
    folder = of_trial(tmp_path / "trial", "colours")
    with pytest.raises(
        AttestError, match=r"decides is 'colours', which is none of classes, .*; expected the file that Attest wrote"
    ):
        kind_in(RunContents(folder))


def test_a_run_says_what_it_decides(small_run):
    assert read_json(small_run.identity)["decides"] == "classes"
    assert kind_in(RunContents(small_run)) == CLASSES


@pytest.mark.parametrize("name", KINDS)
def test_what_a_run_says_goes_before_its_table(tmp_path, name):
    folder = made_run(tmp_path / "a" / "seed0", {}, ONE)
    write_json(folder.identity, read_json(folder.identity) | {"decides": name})
    assert kind_in(RunContents(folder)).name == name
