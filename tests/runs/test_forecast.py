"""How long training will take, judging by a run that is there."""

import pytest

from attest.runs.folder import RunFolder, write_json
from attest.runs.past import Past, at_most, duration, evidence_takes


@pytest.mark.parametrize(("seconds", "said"), [(99, "99 s"), (100, "2 min"), (5999, "100 min"), (7200, "2.0 h")])
def test_durations_as_people_say_them(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "epochs", "steps", "said"),
    [
        ({"train": 90.0, "evidence/E1": 400.0}, 80, -1, "at most 80 epochs, about 40 min judging by the base"),
        ({"train": 90.0}, 80, 2, "at most 2 steps"),
        ({"train": 90.0}, 1, -1, "at most 1 epoch, about 30 s judging by the base"),
        ({"train": 90.0}, -1, -1, "no limit to its epochs"),
        ({"train": 1.0, "train since the last stop": 0.1}, 80, -1, "at most 80 epochs"),
        ({}, 80, -1, "at most 80 epochs"),
    ],
)
def test_a_limit_in_epochs_and_in_time(seconds, epochs, steps, said, tmp_path):
    base = RunFolder(tmp_path)
    write_json(base.summary, {})
    write_json(base.timing, {"seconds": seconds})
    write_json(base.curves, [{"epoch": epoch} for epoch in range(3)])
    assert at_most(epochs, steps, base) == said


def test_a_base_that_says_nothing_leaves_it_to_others(tmp_path):
    said = at_most(80, -1, RunFolder(tmp_path), Past({"train": 300.0}, "our own runs on two cores"))
    assert said == "at most 80 epochs, about 5 min judging by our own runs on two cores"


@pytest.mark.parametrize(
    ("processes", "experiments", "said"),
    [
        (1, ["E1", "E2"], ": about 30 s, judging by runs like it"),
        (2, ["E1"], ": about 10 s on 2 processes, judging by runs like it"),
        (2, ["E3"], ""),
    ],
)
def test_what_evidence_will_take(processes, experiments, said):
    known = Past({"train": 500.0, "evidence/E1": 20.0, "evidence/E2": 10.0}, "runs like it")
    assert evidence_takes(known, experiments, processes) == said
    assert evidence_takes(None, experiments, processes) == ""
