"""A page is left alone only while nothing that it shows has changed."""

import os
import shutil

import pytest

from attest.cli import report
from attest.report import write_report
from attest.report.freshness import is_current, stamp
from attest.runs.folder import RunFolder


@pytest.fixture
def reported(small_run, tmp_path):
    """A run of its own, its page as if it had just been made: drawing takes seconds."""
    place = tmp_path / "planted" / "a" / "seed0"
    shutil.copytree(small_run.path, place)
    run = RunFolder(place)
    as_if_made(run)
    return run


def as_if_made(run):
    run.report.write_text(f"a page\n{stamp(run)}")


def touch(path):
    os.utime(path, ns=(1, 1))


def test_a_page_just_made_is_current_and_a_change_in_any_file_of_the_run_ends_that(reported):
    reported.report.unlink()
    assert not is_current(reported)
    write_report(reported)
    assert is_current(reported)
    for path in (reported.summary, reported.config, reported.curves, reported.evidence("E2")):
        before = stamp(reported)
        touch(path)
        assert stamp(reported) != before, path
    assert not is_current(reported)


@pytest.mark.parametrize("place", ["a/seed1", "a-uniform/seed0", "a/seed0/controls"])
def test_a_new_relative_ends_it(reported, place):
    folder = reported.path.parents[1] / place
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text("{}")
    assert not is_current(reported)


def test_a_copied_page_is_not_current_as_it_names_another_folder(reported):
    shutil.copytree(reported.path, reported.path.parents[1] / "b" / "seed0")
    assert not is_current(RunFolder(reported.path.parents[1] / "b" / "seed0"))


def test_only_pages_that_are_not_current_are_made_unless_all_are_asked_for(reported, monkeypatch, capsys):
    other = reported.path.parents[1] / "b" / "seed0"
    shutil.copytree(reported.path, other)
    made = []
    monkeypatch.setattr("attest.report.write_report", lambda run: (made.append(run.path), as_if_made(run)))
    root = str(reported.path.parents[1])
    report.main([root])
    assert made == [other]
    report.main([root])
    assert made == [other]
    capsys.readouterr()
    report.main([str(other)])
    assert made == [other]
    assert f"{other}/report.html (nothing has changed since it was written)" in capsys.readouterr().out
    report.main([str(other), "FORCE=1"])
    assert made == [other, other]
    assert capsys.readouterr().out == f"Report:     {other}/report.html\n"
