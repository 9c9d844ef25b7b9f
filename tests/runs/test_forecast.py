"""How long training will take, judging by a run that is there."""

import pytest

from attest.runs.folder import RunFolder, write_json
from attest.runs.past import at_most, duration, run_seconds, seconds_of


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


def run(folder, **timing):
    """A finished run of two epochs that says so much of its time."""
    made = RunFolder(folder)
    write_json(made.summary, {})
    write_json(made.timing, timing)
    write_json(made.curves, [{"epoch": epoch} for epoch in range(2)])
    return made


def test_evidence_that_processes_shared_counts_for_all_of_them(tmp_path):
    shared = run(tmp_path, seconds={"train": 10.0, "evidence/E1": 4.0, "evidence/E2": 1.0}, processes={"evidence/E1": 3})
    assert seconds_of(shared) == {"train": 10.0, "epoch": 5.0, "evidence/E1": 12.0, "evidence/E2": 1.0}
    assert run_seconds(shared.path) == 23.0
    assert run_seconds(tmp_path / "nothing") is None


def test_a_run_that_was_taken_up_or_is_not_done_says_nothing(tmp_path):
    assert seconds_of(run(tmp_path / "a", seconds={"train": 9.0, "train since the last stop": 1.0})) == {}
    unfinished = run(tmp_path / "b", seconds={"train": 9.0})
    unfinished.summary.unlink()
    assert seconds_of(unfinished) == {}
