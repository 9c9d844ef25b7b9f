"""Every test score stands with its interval and the number of texts, wherever a run's folder keeps the rows for it."""

import html

import numpy as np
import pandas as pd
import pytest
import torch

from attest.core import kinds
from attest.core.measures.decisions import decision_scores
from attest.core.measures.score_intervals import f1_interval
from attest.core.measures.summary import share_interval
from attest.report.comparison import write_comparison
from attest.report.controls import Controls, baseline, last_words, scored, sentence
from attest.report.findings import Findings
from attest.report.related import scores_of
from attest.report.score_bounds import score_bounds
from attest.runs.contents import RunContents
from tests.report.made import decided, made_run, tagged

LABELS = [0] * 20 + [1] * 20
PREDICTED = [0] * 15 + [1] * 21 + [0] * 4
SCORES = {"test/accuracy": 0.775, "test/f1": 0.78, "test/roc_auc": 0.8}


def of_two_classes(path):
    rows = decided(LABELS, PREDICTED).drop(columns="probability_odd")
    sure = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, len(rows))) + 0.1 * np.array(LABELS)
    return made_run(path, SCORES, rows.assign(probability_bad=1 - sure, probability_good=sure))


def inside(value, ends):
    return ends[0] < value < ends[1]


def test_of_two_classes_f1_is_that_of_the_second_and_of_more_the_mean(tmp_path):
    two, three = of_two_classes(tmp_path / "a"), made_run(tmp_path / "b", {}, decided([0, 1, 2] * 9, [0, 1, 1] * 9))
    both = np.array(LABELS) & np.array(PREDICTED), np.array(LABELS) + np.array(PREDICTED)
    assert score_bounds(RunContents(two)).texts == 40
    assert score_bounds(RunContents(two)).bounds["test/f1"] == f1_interval(*(each[:, None] for each in both))
    assert inside((1 + 2 / 3 + 0) / 3, score_bounds(RunContents(three)).bounds["test/f1"])


def test_of_a_tagger_they_are_over_sentences(tmp_path):
    rows = tagged([[0, 1, 1], [1, 0]] * 6, [[0, 1, 0], [1, 0]] * 6).rename(
        columns={"probability_N": "probability_O", "probability_V": "probability_B-X"}
    )
    summary = {"test/accuracy": 0.8, "test/chunk_f1": 0.8, "test/token_f1": 0.8}
    run = made_run(tmp_path / "seed0", summary, rows)
    found = score_bounds(RunContents(run))
    assert found.texts == 12
    assert found.bounds.keys() == {"test/chunk_f1", "test/token_f1"}
    said = sentence(baseline(RunContents(run)), summary, scored(RunContents(run), baseline(RunContents(run)))).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    low, high = (f"{100 * end:.1f} %" for end in found.bounds["test/chunk_f1"])
    assert f"The F1 of its chunks is 80.0 % [{low}, {high}]." in said
    assert scores_of(RunContents(run))["chunk_f1/ci_low"] == found.bounds["test/chunk_f1"][0]
    assert "on the tokens of 12 test sentences" in last_words(RunContents(run))[0]


def test_of_several_labels_a_text_it_is_over_texts(tmp_path):
    rows = pd.DataFrame({"id": range(12), "text": [0, 0, 0, 1, 2, 3] * 2, "asked": "a", "label": 1, "predicted": [1, 0] * 6})
    rows["text"] += 4 * (rows["id"] > 5)
    run = made_run(tmp_path / "seed0", {"test/f1_micro": 0.67, "test/exact_match": 0.5}, rows)
    found = score_bounds(RunContents(run))
    assert found.texts == 8
    assert inside(2 * 6 / 18, found.bounds["test/f1_micro"])
    sums = rows.assign(either=1 + rows["predicted"]).groupby("text")[["predicted", "either"]].sum().to_numpy()
    assert found.bounds["test/f1_micro"] == f1_interval(sums[:, :1], sums[:, 1:]), "the labels of a text count together"
    told = sentence(None, {"test/f1_micro": 0.67, "test/exact_match": 0.5}, found, kinds.LABELS)
    said = told.replace("\N{NO-BREAK SPACE}", " ")
    assert "F1 is 67.0 % [" in said
    assert "over all decisions about 8 texts" in said


def test_of_numbers_and_of_answers(tmp_path):
    said = np.random.default_rng(0).normal(size=30)
    numbers = pd.DataFrame({"id": range(30), "label": said + np.tile([0.1, -0.2, 0.1], 10), "prediction": said})
    found = score_bounds(RunContents(made_run(tmp_path / "a", {}, numbers)))
    assert found.bounds.keys() == {"test/pearson", "test/spearman", "test/rmse"}
    assert inside(np.sqrt(0.02), found.bounds["test/rmse"])
    answers = pd.DataFrame({"id": range(10), "label": [1] * 7 + [0] * 3, "answer": "x", "predicted": 1})
    found = score_bounds(RunContents(made_run(tmp_path / "b", {}, answers)))
    assert found.bounds == {"test/answer_exact_match": share_interval(answers["label"].to_numpy(float))}
    told = sentence(None, {"test/answer_exact_match": 0.7, "test/answer_f1": 0.8}, found, kinds.SPANS)
    assert "of its answers to 10 questions match" in told
    one = sentence(None, {"test/answer_exact_match": 1.0, "test/answer_f1": 1.0}, found._replace(texts=1), kinds.SPANS)
    assert "of its answers to 1 question match" in one
    assert "it has no interval" in told


def test_without_labels_or_rows_there_is_none(tmp_path):
    assert score_bounds(RunContents(made_run(tmp_path / "a", {}))) is None
    assert score_bounds(RunContents(made_run(tmp_path / "b", {}, decided([0], [0]).drop(columns="label")))) is None


@pytest.mark.parametrize("key", SCORES)
def test_pages_and_terminal_show_each_with_its_interval_and_texts(tmp_path, key):
    run = of_two_classes(tmp_path / "mine" / "a" / "seed0")
    found = scored(RunContents(run), baseline(RunContents(run)))
    low, high = found.bounds[key]
    assert f"{SCORES[key]:.4f} [{low:.4f}, {high:.4f}]" in last_words(RunContents(run))[0]
    assert " on 40 test texts" in last_words(RunContents(run))[0]
    (line,) = (each for group in Findings(run).measured for each in group.lines if each.key == key)
    assert (line.ours, line.bounds, line.detail) == (f"{SCORES[key]:.3f} [{low:.3f}, {high:.3f}]", (low, high), "n = 40")
    other = made_run(tmp_path / "mine" / "b" / "seed0", SCORES, projection="sparsemax")
    write_comparison(tmp_path / "comparison.html", [run, other])
    page = html.unescape((tmp_path / "comparison.html").read_text(encoding="utf-8"))
    assert f"{SCORES[key]:.3f} [{low:.3f}, {high:.3f}] <small>40 texts</small>" in page


def test_the_interval_is_of_the_score_that_is_shown(tmp_path):
    """Of the same decisions and probabilities, each interval holds the score of ``decision_scores``."""
    run = of_two_classes(tmp_path / "seed0")
    rows = pd.read_parquet(run.evidence("instances"))
    probabilities = torch.tensor(rows[["probability_bad", "probability_good"]].to_numpy())
    scores = decision_scores(probabilities, torch.tensor(LABELS))
    assert inside(float(scores["roc_auc"]), score_bounds(RunContents(run)).bounds["test/roc_auc"])


def test_uniform_attention_has_its_interval(tmp_path):
    run = of_two_classes(tmp_path / "mine" / "jw-bilstm-additive-softmax" / "seed0")
    rows = pd.read_parquet(run.evidence("instances"))
    twin = made_run(tmp_path / "mine" / "jw-bilstm-additive-uniform" / "seed0", SCORES, rows, projection="uniform")
    (line,) = (each for group in Findings(run).measured for each in group.lines if each.key == "E4/accuracy")
    assert isinstance(Findings(run).controls, Controls)
    assert line.bounds == baseline(RunContents(twin)).bounds
