"""Are two settings different? By decisions on the same instances, and in units of what a seed changes."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

import numpy as np
from scipy import special

COUNTED, COUNTED_TIED = 50, 13
"""Up to so many ranks, all signs that they could have are counted, as SciPy does; fewer where some tie."""


class Paired(NamedTuple):
    """A comparison of two on the same instances."""

    only_first: int
    """Instances on which the first is better: of decisions, those that it alone decides rightly."""
    only_second: int
    p_value: float
    """Two-sided, if both were equally good; 1 where they never differ."""
    favours: int
    """1 for the first, -1 for the second, 0 for neither; of little meaning where the p-value is large."""

    @property
    def differing(self) -> int:
        """Instances on which one of the two is better."""
        return self.only_first + self.only_second


def mcnemar(first: np.ndarray, second: np.ndarray) -> Paired:
    """McNemar's test (1947), exact: of the instances on which exactly one is right, each is so by a fair coin.

    Args:
        first, second: bool ``(N,)``, whether each decides the same instances rightly.
    """
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    differing = only_first + only_second
    p_value = min(1.0, 2 * float(special.bdtr(min(only_first, only_second), differing, 0.5))) if differing else 1.0
    return Paired(only_first, only_second, p_value, int(np.sign(only_first - only_second)))


def signed_rank(first: np.ndarray, second: np.ndarray) -> Paired:
    """Wilcoxon's signed-rank test (1945) of paired numbers; instances on which they are equal take no part.

    Args:
        first, second: float ``(N,)``, of the same instances; more is better.
    """
    difference = (first - second).round(12)  # 0.3 - 0.15 and 0.15 are one rank
    difference = difference[difference != 0]
    if not len(difference):
        return Paired(0, 0, 1.0, 0)
    only_first = int((difference > 0).sum())
    ranks = _ranks(np.abs(difference))
    balance = float(ranks @ np.sign(difference))
    return Paired(only_first, len(difference) - only_first, _p_of_balance(ranks, balance), int(np.sign(balance)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """From 1; values that tie share the mean of their places."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    return (ties.cumsum() - (ties - 1) / 2)[place]


def _p_of_balance(ranks: np.ndarray, balance: float) -> float:
    """How often the sum of ranks with signs by fair coins is at least as uneven: counted, or normal of many ranks."""
    if len(ranks) > (COUNTED if len({*ranks}) == len(ranks) else COUNTED_TIED):
        return 2 * float(special.ndtr(-abs(balance) / math.sqrt(ranks @ ranks)))
    doubled = (2 * ranks).astype(int)  # whole, where ties share a place
    ways = np.ones(1)
    for rank in doubled:
        ways = np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))
    balances = 2 * np.arange(len(ways)) - doubled.sum()
    return float(ways[np.abs(balances) >= abs(2 * balance)].sum() / ways.sum())


def in_seed_spreads(first: Sequence[float], second: Sequence[float]) -> float:
    r"""How many seed spreads lie between two settings: :math:`(\bar a - \bar b) / \sqrt{(s_a^2 + s_b^2) / 2}`.

    Args:
        first, second: the same number of each setting, one a seed.
    Returns:
        NaN where a setting has one seed only, or neither spreads at all.
    """
    if min(len(first), len(second)) < 2:
        return math.nan
    spread = math.sqrt((variance(first) + variance(second)) / 2)
    return (fmean(first) - fmean(second)) / spread if spread > 0 else math.nan


LEVEL = 0.05


class Majority(NamedTuple):
    """A model beside the best constant answer, on the same instances."""

    label: int
    """The most frequent label of the instances themselves, the smallest of several."""
    share: float
    """How often that is right."""
    accuracy: float
    """How often the model is right."""
    only: int | None
    """The class that the model always predicts; None where it predicts several."""
    test: Paired
    """The model first, the constant answer second."""

    @property
    def better(self) -> bool:
        """Whether the model is right more often than the constant answer, beyond chance."""
        return self.test.favours > 0 and self.test.p_value < LEVEL


def against_majority(labels: np.ndarray, predicted: np.ndarray, lengths: np.ndarray | None = None) -> Majority:
    """Compare a model with the constant answer that fits these very labels best, which is harder to beat than that of others.

    Args:
        labels, predicted: int ``(N,)``, one or more; of taggers over all tokens, a sentence after the other.
        lengths: int ``(S,)``, of taggers: tokens of each sentence, at least 1. Tokens of a sentence are not independent, so
            sentences are paired, by Wilcoxon's signed-rank test on their accuracy. None: decisions, by McNemar's exact test.
    """
    values, counts = np.unique(labels, return_counts=True)
    label, answers = values[counts.argmax()], np.unique(predicted)
    right, constant = predicted == labels, labels == label
    test = (
        mcnemar(right, constant)
        if lengths is None
        else signed_rank(*(mean_of_each(each, lengths) for each in (right, constant)))
    )
    only = int(answers[0]) if len(answers) == 1 else None
    return Majority(int(label), float(constant.mean()), float(right.mean()), only, test)


def mean_of_each(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Means over stretches of so many values that follow one another, ``(N,)`` -> float64 ``(S,)``."""
    return np.add.reduceat(values.astype(np.float64), lengths.cumsum() - lengths) / lengths
