"""What is printed of the jobs of a workflow while it runs."""

import os

from attest.app.reproduce.progress import Progress, Watched


def test_a_job_is_named_when_it_begins_and_when_it_ends(tmp_path, capsys):
    jobs = [Watched(name, tmp_path / f"{name}.log", tmp_path / f"{name}.done") for name in ("first", "second")]
    progress = Progress(jobs)
    progress.look()
    assert capsys.readouterr().out == ""
    jobs[0].log.write_text("Training\n")
    progress.look()
    progress.look()
    assert capsys.readouterr().out == "1 of 2 begins: first\n"
    jobs[0].done.write_text("{}")
    jobs[1].log.write_text("Training\n")
    jobs[1].done.write_text("{}")
    progress.look()
    said = ["2 of 2 begins: second", "1 of 2 done: first, after 0 s", "2 of 2 done: second, after 0 s"]
    assert capsys.readouterr().out.splitlines() == said


def test_files_of_an_earlier_attempt_are_no_news(tmp_path, capsys):
    job = Watched("run", tmp_path / "log", tmp_path / "done")
    for file in (job.log, job.done):
        file.write_text("earlier")
        os.utime(file, (1, 1))
    progress = Progress([job])
    progress.look()
    assert capsys.readouterr().out == ""
    job.done.unlink()
    progress.look()
    assert capsys.readouterr().out == "1 of 1 begins: run\n"
    job.done.write_text("now")
    progress.look()
    assert capsys.readouterr().out == "1 of 1 done: run, after 0 s\n"
