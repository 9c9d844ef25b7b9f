"""Whether a model is worth asking, from tables made by hand: the report's sentence and the last words of a run."""

import math

import numpy as np
import pytest

from attest.app.cli.main import main
from attest.report.controls import baseline, last_words, scores_line, sentence, warnings
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.runs.contents import RunContents
from tests.finished_runs import SMALL_RUN
from tests.report.made import decided, made_run, tagged

HALF = [0] * 10 + [1] * 10


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def told(path, summary, rows):
    run = made_run(path, summary, rows)
    return plain(sentence(baseline(RunContents(run)), {"version": 1} | summary)), last_words(RunContents(run))


def test_a_model_that_has_learned_its_task(tmp_path, snapshot):
    said, words = told(
        tmp_path, {"test/accuracy": 0.95, "test/f1": 0.947, "test/roc_auc": 0.99}, decided(HALF, [0] * 11 + [1] * 9)
    )
    assert said == snapshot
    assert words == snapshot


def test_a_model_at_chance_that_always_says_the_same(tmp_path, snapshot):
    said, words = told(tmp_path, {"test/accuracy": 0.5, "test/roc_auc": 0.512}, decided(HALF, [1] * 20))
    assert said == snapshot
    assert words == snapshot


def imbalanced(path):
    """Nine of ten texts are good; the model says so of nearly all, and is surer where it is right."""
    labels = [0] * 10 + [1] * 90
    rows = decided(labels, [0] * 3 + [1] * 97)
    rows["probability_bad"] = np.linspace(0.9, 0.05, 100).astype(np.float32)
    return made_run(path, {"test/accuracy": 0.93}, rows)


def test_imbalanced_labels_are_no_sign_that_nothing_was_learned(tmp_path):
    held = baseline(RunContents(imbalanced(tmp_path / "seed0")))
    assert not held.majority.better
    assert held.learned
    assert held.apart.balanced == pytest.approx((0.3 + 1) / 2)
    assert warnings(held) == [
        "The model has learned little: its balanced accuracy is 65\N{NO-BREAK SPACE}%, and chance is 50\N{NO-BREAK SPACE}%."
    ]


def test_a_model_that_ranks_texts_and_is_not_right_more_often_is_not_called_better(tmp_path, snapshot):
    held = baseline(RunContents(imbalanced(tmp_path / "seed0")))
    assert plain(sentence(held, {"test/accuracy": 0.93})) == snapshot


def test_an_undefined_score_is_said_and_no_zero(tmp_path, snapshot):
    said, words = told(tmp_path, {"test/accuracy": 1.0, "test/f1": 1.0, "test/roc_auc": None}, decided([1] * 16, [1] * 16))
    assert "Its ROC-AUC is undefined: one class only. What is measured" in said
    assert "ROC-AUC undefined: one class only on 16 test texts; always “good”" in words[0]
    live = scores_line("validation", {"validation/accuracy": 1.0, "validation/f1": math.nan})
    assert live == snapshot
    assert scores_line("test", {"validation/accuracy": 1.0}) is None


def test_a_model_that_is_worse_than_the_constant_answer_is_not_called_better(tmp_path, snapshot):
    said, words = told(tmp_path, {"test/accuracy": 0.1}, decided([1] * 20, [0] * 18 + [1] * 2))
    assert said == snapshot
    assert words[1].startswith(
        "Warning:    its accuracy is not shown to be better than that of always answering “good”, the most frequent label "
        "(McNemar's exact test: p < 0.0001)."
    )
    assert len(words) == 2


def test_a_tagger_is_judged_by_its_sentences(tmp_path, snapshot):
    tags = [[0, 0, 1]] * 8
    said, words = told(tmp_path, {"test/accuracy": 1.0, "test/chunk_f1": 0.9}, tagged(tags, tags))
    assert f"{2 / 2**8:.4f}" == "0.0078", (
        "all eight sentences are tagged better, as one of 256 patterns of signs in each direction"
    )
    assert said == snapshot
    assert words == snapshot


def test_of_a_summary_alone_nothing_is_held_against_anything(tmp_path, snapshot):
    run = made_run(tmp_path, {"test/accuracy": 0.801, "test/f1": 0.8})
    assert baseline(RunContents(run)) is None
    assert plain(sentence(None, {"test/accuracy": 0.801})) == snapshot
    assert last_words(RunContents(run)) == ["Test:       accuracy 0.8010, F1 0.8000"]


@pytest.mark.parametrize("summary", [{}, {"test/accuracy": None}])
def test_a_run_without_scores_says_nothing_of_them(tmp_path, summary):
    assert sentence(None, summary) is None
    assert last_words(RunContents(made_run(tmp_path, summary))) == []


def test_fit_ends_with_the_score_and_the_baseline(small_run, capsys):
    """A model at chance: two epochs of ten batches have taught it nothing."""
    assert main(["fit", *SMALL_RUN, f"--run.root={small_run.path.parents[2]}"]) == 0
    said = capsys.readouterr().out
    assert "\n".join(last_words(RunContents(small_run))) in said
    assert said.index("Test:       accuracy 0.4935") < said.index("Warning:") < said.index("Run folder:")


def test_a_page_opens_with_what_is_wrong_with_its_model(tmp_path):
    run = made_run(tmp_path / "seed0", {"test/accuracy": 0.5}, decided([0, 1] * 20, [0] * 40))
    write_report(Findings(run))
    banner = run.report.read_text().partition('<p class="warning" role="note">')[2].partition("</p>")[0]
    assert "The model predicts “bad” every time. It is not shown to tell the classes apart better than chance" in banner
    sound = made_run(tmp_path / "other" / "seed0", {"test/accuracy": 1.0}, decided([0, 1] * 20, [0, 1] * 20))
    write_report(Findings(sound))
    assert 'class="warning"' not in sound.report.read_text()
