"""What a run says does not depend on where one stands."""

from pathlib import Path

from attest.report import write_report
from attest.report.findings import Findings
from attest.runs.folder import RunFolder


def test_a_run_named_from_within_its_parent_says_the_same(small_run, monkeypatch, tmp_path):
    expected = Findings(small_run)
    monkeypatch.chdir(small_run.path.parent)
    beside = RunFolder(Path(small_run.path.name))
    found = Findings(beside)
    assert found.answers == expected.answers
    assert found.verdict == expected.verdict
    write_report(beside, figures=[], alone=tmp_path / "page.html")
    assert f"planted / {small_run.path.parent.name} / seed0" in (tmp_path / "page.html").read_text(encoding="utf-8")
