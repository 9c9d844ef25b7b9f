"""The page of a base's controls, from run folders made by hand."""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attest.report.related_pages import write_controls
from attest.runs.folder import RunFolder
from tests.report.made import decided, made_run

LABELS = [0, 1] * 10
BASE, OTHER, UNIFORM = [0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [1 / 3] * 3


def attending(predicted: list[int], weights: list[float]) -> pd.DataFrame:
    """Texts that were all attended to alike."""
    rows = decided(LABELS, predicted)
    attention = [np.array(weights, dtype=np.float32)] * len(rows)
    return rows.assign(attention=attention, max_attention=np.float32(max(weights)))


def run(path: Path, predicted: list[int], weights: list[float], **choices: str) -> RunFolder:
    accuracy = float(np.mean(np.equal(predicted, LABELS)))
    return made_run(path, {"test/accuracy": accuracy}, attending(predicted, weights), **choices)


@pytest.fixture
def base(tmp_path):
    return run(tmp_path / "mine" / "jw-bilstm-additive-softmax" / "seed0", LABELS, BASE)


def page_of(base: RunFolder) -> str:
    return html.unescape((base.path / "controls" / "report.html").read_text(encoding="utf-8"))


def test_classes_have_their_names_in_the_figure_of_seeds(base, capsys):
    seed = run(base.path.with_name("seed1"), LABELS, OTHER)
    write_controls(base, [("E5", "seed 1", seed)])
    assert "Controls:" in capsys.readouterr().out
    assert re.findall("predicted: (\\w+)", page_of(base)) == ["bad", "good", "odd"]


def test_each_control_stands_under_the_question_of_its_experiment(base):
    seed = run(base.path.with_name("seed1"), LABELS, OTHER)
    seed.report.touch()
    write_controls(base, [("E5", "seed 1", seed)])
    page = page_of(base)
    assert "How far apart is attention when only the seed differs?" in page
    assert '<a href="../../seed1/report.html">seed 1</a>' in page


def test_the_page_begins_with_what_the_decisions_on_single_texts_say(base, capsys, snapshot):
    wrong = [1 - label for label in LABELS]
    root = base.path.parents[1]
    uniform = run(root / "jw-bilstm-additive-uniform" / "seed0", wrong, UNIFORM, projection="uniform")
    average = run(root / "jw-average-additive-uniform" / "seed0", wrong, UNIFORM, projection="uniform", model="average")
    guide = run(base.path / "guides" / "base", LABELS, BASE)
    controls = [("E4", "uniform attention", uniform), ("E6", "guide: uniform attention", average)]
    write_controls(base, [*controls, ("E6", "guide: base's attention", guide)])
    assert re.findall("<strong>(.*?)</strong>", page_of(base)) == snapshot
    assert capsys.readouterr().out.startswith("Uniform attention does worse than learned attention.\n")
