"""What the first screen says where there is no verdict: why, and what to type."""

import re

import pandas as pd
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from attest.report.findings import Findings
from attest.report.page import write_report
from tests.report.made import decided, made_run, tagged

LABELS = [0, 1] * 20


def header_of(folder, summary: dict[str, float], rows: pd.DataFrame, trial: dict[str, object] | None = None) -> str:
    """The words at the top of the page, without the folder's path."""
    run = made_run(folder / "mine" / "one" / "seed0", summary, rows)
    if trial is not None:
        run.config.write_text(yaml.safe_dump(yaml.safe_load(run.config.read_text()) | {"trial": trial | {"attest": "0"}}))
    write_report(Findings(run), figures=[])
    header = run.report.read_text().partition("<header>")[2].partition("<nav")[0].replace(str(run.path), "<run>")
    return re.sub(r"\s+", " ", re.sub(r"<(?!run>)[^>]+>", " ", header)).strip()


@pytest.mark.parametrize("trial", [None, {"model": "a.Model", "texts": 40, "name": "mine on reviews", "experiments": {}}])
def test_it_names_the_evidence_that_is_missing(tmp_path, trial, snapshot: SnapshotAssertion):
    assert header_of(tmp_path, {"test/accuracy": 1.0}, decided(LABELS, LABELS), trial) == snapshot


def test_a_model_that_learned_nothing_gets_no_answer(tmp_path, snapshot: SnapshotAssertion):
    assert header_of(tmp_path, {"test/accuracy": 0.5}, decided(LABELS, [1] * 40)) == snapshot


def test_a_tagger_needs_the_same_experiment(tmp_path, snapshot: SnapshotAssertion):
    assert header_of(tmp_path, {"test/accuracy": 1.0}, tagged([[0, 1]] * 20, [[0, 1]] * 20)) == snapshot


def test_any_explanation_can_get_an_answer(tmp_path, snapshot: SnapshotAssertion):
    trial = {"model": "a.Model", "texts": 40, "explanation": "cross-attention", "experiments": {}}
    assert header_of(tmp_path, {"test/accuracy": 1.0}, decided(LABELS, LABELS), trial) == snapshot
