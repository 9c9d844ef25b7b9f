"""The page that a person reads: self-contained, escaped, complete."""

import re
import shutil

import pandas as pd
import pytest

from attest.report import illustrations, write_report
from attest.report.figures import learning_curves, permutation_violins, tau_histograms, to_svg
from attest.run_folder import RunFolder, write_json, write_table

HOSTILE = '</span><script>alert(1)</script>"onmouseover="alert(2)'


@pytest.fixture
def run(small_run, tmp_path) -> RunFolder:
    path = tmp_path / small_run.path.relative_to(small_run.path.parents[2])
    shutil.copytree(small_run.path, path)
    return RunFolder(path)


def test_it_needs_nothing_from_outside(small_run):
    page = small_run.report.read_text()
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "@import" not in page
    assert page.count("<svg") == len(illustrations(small_run)) > 3


def test_text_from_the_data_cannot_inject_markup(run):
    rows = pd.read_parquet(run.evidence("instances"))
    rows["tokens"] = rows["tokens"].map(lambda tokens: [HOSTILE] * len(tokens))
    write_table(run.evidence("instances"), rows)
    write_report(run)
    page = run.report.read_text()
    assert "<script" not in page
    assert '"onmouseover' not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_control_comes_first_with_the_command_that_runs_it(small_run):
    page = small_run.report.read_text()
    assert page.index("E4  Accuracy with uniform attention") < page.index("Accuracy</th>") + page.index("E1  τ-b")
    assert "not run: make controls DATA=planted MODEL=bilstm SCORING=additive PROJECTION=softmax SEED=0" in page


def test_controls_that_were_run_are_read(run):
    controls = {"rows": [{"experiment": "E4", "name": "uniform attention", "accuracy": 0.625}], "E5/jsd/mean": 0.125}
    spread = {f"E5/jsd/{part}": None for part in ("std", "ci_low", "ci_high")} | {"E5/jsd/nan": 0.0}
    write_json(run.path / "controls" / "summary.json", controls | spread)
    write_report(run)
    page = run.report.read_text()
    assert "not run: make controls" not in page
    assert "0.625" in page
    assert "E5  JSD between seeds</th><td>0.125" in page


def test_it_is_written_without_evidence_that_did_not_run(run):
    for table in (run.path / "evidence").glob("E*.parquet"):
        table.unlink()
    write_report(run)
    assert run.report.read_text().count("<svg") == 1


def test_undefined_evidence_is_drawn_and_counted_not_crashed_on():
    rows = pd.DataFrame(
        {"predicted": [0, 0, 1], "tau": [float("nan")] * 3, "max_attention": [1.0, 0.2, 0.2], "tvd_median": [0.1] * 3}
    )
    for figure in (tau_histograms(rows, "tau", ["a", "b"]), permutation_violins(rows, ["a", "b"])):
        assert to_svg(figure).startswith("<svg")


def test_equal_data_draw_equal_figures():
    epochs = [{"epoch": 0, "train/loss": 1.0, "validation/loss": 2.0}]
    assert to_svg(learning_curves(epochs)) == to_svg(learning_curves(epochs))
