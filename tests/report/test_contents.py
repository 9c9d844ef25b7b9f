"""The files of a run folder are read once: for its page, its card and its gate, and for the pages of several runs."""

import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from attest.report.card import put_into
from attest.report.comparison import write_comparison
from attest.report.findings import Findings
from attest.report.gate import requirement, rule
from attest.report.page import write_report
from attest.report.shown import terminal_lines
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_json, write_json, write_table
from attest.runs.identity import DECIDES
from tests.report.made import decided, made_run, tagged


@pytest.fixture
def run(small_run, tmp_path) -> RunFolder:
    path = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, path)
    return RunFolder(path)


@pytest.fixture
def opened(monkeypatch, tmp_path) -> Counter:
    """How often each file below ``tmp_path`` is opened, by its path from there."""
    found: Counter = Counter()

    def counting(function):
        def counted(path, *arguments, **options):
            if Path(path).is_relative_to(tmp_path):
                found[Path(path).relative_to(tmp_path).as_posix()] += 1
            return function(path, *arguments, **options)

        return counted

    for owner, name in ((Path, "read_text"), (Path, "read_bytes"), (pd, "read_parquet"), (pq, "read_schema")):
        monkeypatch.setattr(owner, name, counting(getattr(owner, name)))
    return found


@pytest.mark.parametrize("names_its_kind", [True, False], ids=["of today", "of an earlier version"])
def test_a_page_opens_each_file_once(run, opened, tmp_path, names_its_kind):
    if not names_its_kind:
        write_json(run.identity, {name: value for name, value in read_json(run.identity).items() if name != DECIDES})
    opened.clear()
    write_report(Findings(run), figures=[], alone=tmp_path / "page.html")
    assert {f"evidence/{name}.parquet" for name in run.tables} < {path.partition("seed0/")[2] for path in opened}
    assert {*opened.values()} == {1}, opened


def test_page_terminal_lines_card_and_gate_of_one_object_open_each_file_once(run, opened, tmp_path):
    found = Findings(run)
    write_report(found, figures=[], alone=tmp_path / "page.html")
    terminal_lines(found)
    put_into("", found)
    for asked in ("tokens=yes", "E2/tvd_median>0.1", "test/accuracy>0.5"):
        rule(found, requirement(asked))
    assert {*opened.values()} == {1}, opened


def test_of_a_tagger_all_but_the_table_of_its_sentences_is_opened_once(opened, tmp_path):
    """Of that table the names of columns are read, what was decided, and the attention of the sentences that are shown."""
    rows = tagged([[0, 1], [1]], [[0, 0], [0]])
    rows = rows.assign(tokens=[["a", "b"], ["c"]], attention=[[0.5] * 4, [1.0]])
    run = made_run(tmp_path / "mine" / "tagger" / "seed0", {"test/accuracy": 0.5}, rows)
    write_report(Findings(run), figures=[], alone=tmp_path / "page.html")
    table = "mine/tagger/seed0/evidence/tagged.parquet"
    assert opened.pop(table) <= 4
    assert {*opened.values()} == {1}, opened


def test_a_comparison_opens_each_file_of_its_runs_once_and_of_a_table_names_and_decisions_apart(opened, tmp_path):
    runs = [
        made_run(tmp_path / "mine" / name / "seed0", {"test/accuracy": 0.5}, decided([0, 1, 1], [0, 1, 0]), model=name)
        for name in ("bilstm", "cnn")
    ]
    write_comparison(tmp_path / "page.html", runs)
    tables = {path: opened.pop(path) for path in [*opened] if path.endswith(".parquet")}
    assert {*tables.values()} == {2}
    assert {*opened.values()} == {1}, opened


def test_contents_are_those_of_the_first_reading_and_new_ones_show_what_was_written(tmp_path):
    run = made_run(tmp_path / "seed0", {"test/accuracy": 0.5}, decided([0, 1], [0, 1]))
    contents = RunContents(run)
    assert (contents.summary["test/accuracy"], len(contents.table("instances"))) == (0.5, 2)
    write_json(run.summary, {"test/accuracy": 1.0})
    write_table(run.evidence("instances"), decided([0, 1, 1], [0, 1, 1]))
    assert (contents.summary["test/accuracy"], len(contents.table("instances"))) == (0.5, 2)
    assert (RunContents(run).summary["test/accuracy"], len(RunContents(run).table("instances"))) == (1.0, 3)


def test_what_was_decided_has_no_weights_and_no_words(tmp_path):
    rows = decided([0, 1], [0, 1]).assign(attention=[[1.0], [1.0]], tokens=[["a"], ["b"]])
    found = RunContents(made_run(tmp_path / "seed0", {}, rows)).decided
    assert [*found] == ["id", "label", "predicted", "length", "probability_bad", "probability_good", "probability_odd"]
