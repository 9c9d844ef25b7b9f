"""A model against the constant answer: by hand, and by scipy."""

import numpy as np
import pytest
from scipy import stats

from attest.core.measures import against_majority
from attest.core.measures.comparison import mean_of_each


def test_the_constant_is_the_most_frequent_label_and_the_smallest_of_several():
    found = against_majority(np.array([2, 2, 2, 0, 1]), np.array([2, 0, 2, 0, 1]))
    assert (found.label, found.share, found.accuracy, found.only) == (2, 0.6, 0.8, None)
    assert (found.test.only_first, found.test.only_second) == (2, 1)
    assert against_majority(np.array([1, 0, 3, 3, 0]), np.array([1, 0, 3, 3, 0])).label == 0


@pytest.mark.parametrize("right", [9, 10, 14, 15, 20])
def test_better_means_beyond_a_fair_coin_on_the_texts_where_the_two_differ(right):
    """The constant 0 is right on ten; the model on all of these, and on so many of the ten others."""
    labels = np.repeat([0, 1], [20, 20 - 1])
    predicted = np.where(np.arange(39) < 20 + right - 9, labels, 1 - labels)
    found = against_majority(labels, predicted)
    expected = stats.binomtest(right - 9, right - 9).pvalue if right > 9 else 1.0
    assert found.test.p_value == pytest.approx(expected)
    assert found.better == (expected < 0.05)


def test_a_model_that_is_worse_is_not_better():
    labels = np.zeros(30, int)
    found = against_majority(labels, 1 - labels)
    assert found.test.p_value < 1e-6
    assert not found.better


def test_one_answer_is_named():
    assert against_majority(np.array([0, 1, 1]), np.array([2, 2, 2])).only == 2


def test_sentences_are_paired_for_taggers():
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, 9, 40)
    labels = generator.integers(0, 3, lengths.sum())
    predicted = np.where(generator.random(len(labels)) < 0.7, labels, 2 - labels)
    found = against_majority(labels, predicted, lengths)
    constant = np.bincount(labels).argmax()
    ends = lengths.cumsum()
    sentences = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    ours = np.array([np.mean(predicted[s] == labels[s]) for s in sentences])
    theirs = np.array([np.mean(labels[s] == constant) for s in sentences])
    np.testing.assert_allclose(mean_of_each(predicted == labels, lengths), ours)
    apart = (ours - theirs).round(12)  # 1/2 - 1/3 and 2/3 - 1/2 are one rank
    assert found.test.p_value == pytest.approx(stats.wilcoxon(apart).pvalue)
    assert (found.test.only_first, found.test.only_second) == ((ours > theirs).sum(), (ours < theirs).sum())
