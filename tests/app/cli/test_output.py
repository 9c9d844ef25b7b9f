"""What ``--out`` names: the suffix says the kind, and nobody else's file is written over."""

import pytest

from attest.app.cli.main import main
from tests.conftest import without_places
from tests.report.made import decided, made_run


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "runs" / "mine" / "jw-bilstm-additive-softmax" / "seed0"
    return made_run(path, {"test/accuracy": 0.5, "best/epoch": 0}, decided([0, 1], [0, 0]))


def refused(capsys, *arguments):
    assert main([str(each) for each in arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "beginning"), [("x.csv", "setting,measure,"), ("x.md", "| Setting "), ("x.tex", r"\begin{tabular}{llr}")]
)
def test_the_suffix_of_a_table_says_its_format(run, tmp_path, name, beginning):
    for _ in range(2):
        assert main(["table", str(run.path), "--out", str(tmp_path / name)]) == 0, "an older one of its own may be replaced"
    assert (tmp_path / name).read_text().startswith(beginning)


def test_a_suffix_that_says_nothing_or_the_contrary_is_refused(run, tmp_path, capsys, snapshot):
    assert without_places(refused(capsys, "table", run.path, "--out", tmp_path / "x.txt")) == snapshot
    assert "ends in no suffix" in refused(capsys, "table", run.path, "--out", tmp_path / "x")
    said = refused(capsys, "table", run.path, "--format", "latex", "--out", tmp_path / "x.csv")
    assert "--format latex" in said
    assert "contradict one another" in said
    assert "ends in .txt; expected .html" in refused(capsys, "report", run.path, "--out", tmp_path / "notes.txt")
    assert not [*tmp_path.glob("*.*")]


@pytest.mark.parametrize(
    ("command", "name", "content"),
    [
        ("table", "train.csv", "text,label\ngood,1\n"),
        ("table", "notes.md", "# My notes\n"),
        ("table", "paper.tex", "\\documentclass{article}\n"),
        ("report", "mine.html", "<!doctype html>\n<html><head><title>My page</title></head></html>\n"),
        ("report", "empty.html", ""),
        ("explain", "mine.html", "<!doctype html>\n<html><head><title>My page</title></head></html>\n"),
    ],
)
def test_a_file_of_someone_else_is_not_written_over(run, tmp_path, capsys, command, name, content, snapshot):
    (tmp_path / name).write_text(content)
    run.best.parent.mkdir()
    run.best.touch()
    asked = ["explain", "--text", "good", "--run"] if command == "explain" else [command]
    assert without_places(refused(capsys, *asked, run.path, "--out", tmp_path / name)) == snapshot
    assert (tmp_path / name).read_text() == content
    assert not run.report.is_file(), "refused before anything is done"


def test_a_folder_is_no_file(run, tmp_path, capsys, snapshot):
    (tmp_path / "x.html").mkdir()
    assert without_places(refused(capsys, "report", run.path, "--out", tmp_path / "x.html")) == snapshot


def test_one_run_may_have_its_page_elsewhere(run, tmp_path, capsys):
    page = tmp_path / "pages" / "one.html"
    for _ in range(2):
        assert main(["report", str(run.path), "--out", str(page)]) == 0
    assert page.read_text() == run.report.read_text()
    assert f"Copy:       {page}" in capsys.readouterr().out
