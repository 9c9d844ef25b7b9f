"""Are two settings different? By decisions on the same instances, and in units of what a seed changes."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

import numpy as np
from scipy import stats


class McNemar(NamedTuple):
    """A paired comparison of decisions."""

    only_first: int
    """Instances that the first decides rightly and the second wrongly."""
    only_second: int
    p_value: float
    """Two-sided, exact, if both were equally good; 1 where they never differ."""


def mcnemar(first: np.ndarray, second: np.ndarray) -> McNemar:
    """McNemar's test (1947), exact: of the instances on which exactly one is right, each is so by a fair coin.

    Args:
        first, second: bool ``(N,)``, whether each decides the same instances rightly.
    """
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    differing = only_first + only_second
    p_value = float(stats.binomtest(only_first, differing).pvalue) if differing else 1.0
    return McNemar(only_first, only_second, p_value)


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
