"""Intervals of scores that are no means of texts hold the true score as often as they say."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score, roc_auc_score

from attest.core.measures.score_intervals import correlation_interval, f1_interval, rmse_interval, roc_auc_interval
from attest.core.measures.summary import share_interval

TIMES = 300


def of_classes(labels, predicted, classes):
    """Return the items that match and those that are counted, of each text and class."""
    true, said = (np.asarray(each)[:, None] == classes for each in (labels, predicted))
    return (true & said).astype(int), true.astype(int) + said


def held(intervals, truth):
    return np.mean([low <= truth <= high for low, high in intervals])


def test_f1_of_sentences_is_over_sentences_and_holds_the_truth():
    """Chunks of a sentence are alike: an interval over chunks would hold the true F1 in two thirds of samples."""
    rng, over_sentences, over_chunks = np.random.default_rng(0), [], []

    def draw(count):
        chunks, ease = rng.integers(2, 12, count), rng.beta(1, 0.4, count)
        matching = rng.binomial(chunks, ease)
        return matching[:, None], 2 * chunks[:, None]

    matching, counted = draw(400_000)
    truth = 2 * matching.sum() / counted.sum()
    for _ in range(TIMES):
        matching, counted = draw(80)
        over_sentences.append(f1_interval(matching, counted))
        right = int(matching.sum())
        over_chunks.append(share_interval(np.repeat([1.0, 0.0], [right, counted.sum() // 2 - right])))
    assert 0.92 <= held(over_sentences, truth) <= 0.99
    assert held(over_chunks, truth) < 0.8


@pytest.mark.parametrize("classes", [[1], [0, 1, 2]])
def test_f1_of_one_class_and_the_mean_of_several_hold_the_truth(classes):
    rng, found = np.random.default_rng(1), []

    def draw(count):
        labels = rng.choice(3, count, p=[0.5, 0.3, 0.2])
        return labels, np.where(rng.random(count) < 0.7, labels, rng.integers(0, 3, count))

    labels, predicted = draw(400_000)
    truth = f1_score(labels, predicted, labels=classes, average="macro")
    for _ in range(TIMES):
        found.append(f1_interval(*of_classes(*draw(150), classes)))
    assert 0.92 <= held(found, truth) <= 0.985


@pytest.mark.parametrize("classes", [2, 3])
def test_roc_auc_holds_the_truth(classes):
    rng, found = np.random.default_rng(2), []

    def draw(count):
        labels = rng.choice(classes, count, p=[0.3, 0.7] if classes == 2 else [0.2, 0.3, 0.5])
        scores = np.exp(rng.normal(size=(count, classes)) + np.eye(classes)[labels])
        return labels, scores / scores.sum(axis=1, keepdims=True)

    labels, probabilities = draw(200_000)
    truth = roc_auc_score(labels, probabilities[:, 1] if classes == 2 else probabilities, multi_class="ovr")
    for _ in range(TIMES):
        found.append(roc_auc_interval(*draw(120)))
    assert 0.92 <= held(found, truth) <= 0.985


def test_a_perfect_score_is_as_unsure_as_its_rarest_class():
    labels = np.array([1] * 5 + [0] * 95)
    assert f1_interval(*of_classes(labels, labels, [1])) == share_interval(np.ones(5))
    assert f1_interval(*of_classes(labels, labels, [0, 1])) == share_interval(np.ones(5))
    assert roc_auc_interval(labels, np.stack([1 - labels, labels], axis=1).astype(float)) == share_interval(np.ones(5))


def test_what_is_undefined_has_no_interval():
    nothing = np.zeros((3, 1), dtype=int)
    assert all(map(math.isnan, f1_interval(nothing, nothing)))
    assert all(map(math.isnan, roc_auc_interval(np.ones(4, dtype=int), np.full((4, 2), 0.5))))
    assert all(map(math.isnan, correlation_interval(0.5, 3)))
    assert all(map(math.isnan, rmse_interval(np.array([1.0]))))
    assert correlation_interval(1.0, 9) == (1.0, 1.0)


def test_correlations_and_rmse():
    drawn = np.random.default_rng(3).normal(size=(2, 60))
    expected = stats.pearsonr(*drawn).confidence_interval()
    assert correlation_interval(stats.pearsonr(*drawn).statistic, 60) == pytest.approx((expected.low, expected.high))
    low, high = correlation_interval(0.6, 60)
    wider = correlation_interval(0.6, 60, of_ranks=True)
    assert wider[0] < low < high < wider[1], "ranks say less"
    low, high = rmse_interval(drawn[0])
    assert 0 < low < np.sqrt((drawn[0] ** 2).mean()) < high
