"""How long runs took."""

import pytest

from attest.runs.folder import RunFolder, write_json
from attest.runs.past import duration, run_seconds, seconds_of


@pytest.mark.parametrize(("seconds", "said"), [(99, "99 s"), (100, "2 min"), (5999, "100 min"), (7200, "2.0 h")])
def test_durations_as_people_say_them(seconds, said):
    assert duration(seconds) == said


def run(folder, **timing):
    """A finished run that says so much of its time."""
    made = RunFolder(folder)
    write_json(made.summary, {})
    write_json(made.timing, timing)
    return made


def test_evidence_that_processes_shared_counts_for_all_of_them(tmp_path):
    shared = run(tmp_path, seconds={"train": 10.0, "evidence/E1": 4.0, "evidence/E2": 1.0}, processes={"evidence/E1": 3})
    assert seconds_of(shared) == {"train": 10.0, "evidence/E1": 12.0, "evidence/E2": 1.0}
    assert run_seconds(shared.path) == 23.0
    assert run_seconds(tmp_path / "nothing") is None


def test_a_run_that_was_taken_up_or_is_not_done_says_nothing(tmp_path):
    assert seconds_of(run(tmp_path / "a", seconds={"train": 9.0, "train since the last stop": 1.0})) == {}
    unfinished = run(tmp_path / "b", seconds={"train": 9.0})
    unfinished.summary.unlink()
    assert seconds_of(unfinished) == {}
