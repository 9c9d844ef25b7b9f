"""What is printed of the jobs of a workflow while it runs."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from attest.replication import workflow as module
from attest.replication.plan import Job
from attest.replication.workflow import Progress


def job_of(folder: Path) -> Job:
    folder.mkdir()
    return Job(folder, ())


@pytest.fixture
def clock(monkeypatch):
    """Shows the seconds that it is set to."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    return now


def test_a_job_is_a_line_with_the_time_that_is_left_judged_by_those_that_have_ended(tmp_path, capsys, clock):
    jobs = [job_of(tmp_path / name) for name in ("first", "second", "third")]
    progress = Progress(jobs, tmp_path)
    progress.look()
    assert capsys.readouterr().out == ""
    jobs[0].log.write_text("Training\n")
    progress.look()
    progress.look()
    assert capsys.readouterr().out == "1 of 3 · first\n"
    clock.seconds = 180.0
    jobs[0].summary.write_text("{}")
    jobs[1].log.write_text("Training\n")
    progress.look()
    assert capsys.readouterr().out == "2 of 3 · second · 6 min left\n"
    clock.seconds = 240.0
    jobs[1].summary.write_text("{}")
    jobs[2].summary.write_text("{}")
    progress.look()
    assert capsys.readouterr().out.startswith("3 of 3 · third"), "its beginning and its end in one look"


def test_a_run_is_named_in_words():
    folder = Path("runs/sst/jw-bilstm-additive-softmax/seed1/adversarial/unfrozen-kl-1e-3")
    assert Job(folder, ()).named(Path("runs")) == "sst jw-bilstm-additive-softmax seed 1 adversarial unfrozen-kl-1e-3"


def test_files_of_an_earlier_attempt_are_no_news(tmp_path, capsys):
    job = job_of(tmp_path / "run")
    for file in (job.log, job.summary):
        file.write_text("earlier")
        os.utime(file, (1, 1))
    progress = Progress([job], tmp_path)
    progress.look()
    assert capsys.readouterr().out == ""
    job.summary.unlink()
    progress.look()
    assert capsys.readouterr().out == "1 of 1 · run\n"
    job.summary.write_text("now")
    progress.look()
    assert capsys.readouterr().out == ""
