"""95 % intervals of the mean of a number, and whether two of them lie apart.

Where several are compared, the two that lie farthest apart do so by chance: of 18 equal settings, plain 95 % intervals part a
third of all numbers. So intervals are widened with the number of settings, by the studentised range (Gabriel 1978; Hochberg,
Weiss & Hart 1982): two of them then lie apart by chance in about one of 20 numbers at most.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import fmean, stdev
from typing import Any, NamedTuple

import pandas as pd
from scipy import special

from attest.experiments.registry import EXPERIMENTS
from attest.measures.numbers import interval
from attest.measures.summary import share_interval

PARTS = ("mean", "ci_low", "ci_high")
"""What a summary says of a number with an interval."""


class Interval(NamedTuple):
    """Of a mean."""

    mean: float
    low: float
    high: float

    def apart(self, other: "Interval") -> int:
        """1 where this lies wholly above the other, -1 where wholly below; 0 where they overlap or touch."""
        return int(self.low > other.high) - int(self.high < other.low)

    def gap(self, other: "Interval") -> float:
        """How much lies between the two; 0 where they overlap."""
        return max(0.0, self.low - other.high, other.low - self.high)

    def __str__(self) -> str:
        """As the report writes it."""
        return interval(self.mean, self.low, self.high)


def over_texts(summary: Mapping[str, Any], key: str, compared: int = 2) -> Interval | None:
    """Of the texts of one run, as its summary has it; None of a number that has none.

    Args:
        summary: of the run.
        key: ``E7/jsd``.
        compared: how many settings the interval is compared with one another, itself among them.
    """
    known = [summary.get(f"{key}/{part}") for part in PARTS]
    defined = [float(each) for each in known if each is not None and not math.isnan(each)]
    if len(defined) < len(PARTS):
        return None
    mean, low, high = defined
    wider = errors(compared, math.inf) / errors(2, math.inf)
    return Interval(mean, *within(key, mean - wider * (mean - low), mean + wider * (high - mean)))


def within(key: str, low: float, high: float) -> tuple[float, float]:
    """An interval without what lies beyond the least and the greatest value of its number, where no mean can be."""
    experiment, _, name = key.partition("/")
    column = EXPERIMENTS[experiment].column(name) if experiment in EXPERIMENTS else None
    if column is None or column.range is None:
        return low, high
    return max(low, column.range[0]), min(high, column.range[1])


def whiskers(shares: pd.Series) -> tuple[float, float]:
    """How far the interval of the mean of shares, in [0, 1], reaches below and above it; NaN is left out, 0 of no shares."""
    known = shares.dropna().to_numpy(dtype=float)
    if not len(known):
        return 0.0, 0.0
    low, high = share_interval(known)
    return known.mean() - low, high - known.mean()


def over_seeds(values: Sequence[float], compared: int = 2) -> Interval | None:
    """Student's interval of the mean over seeds; None of fewer than two, which say nothing of any other.

    Args:
        values: one a seed.
        compared: as in ``over_texts``.
    """
    if len(values) < 2:
        return None
    margin = errors(compared, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Interval(fmean(values), fmean(values) - margin, fmean(values) + margin)


@cache
def errors(compared: int, freedom: float) -> float:
    """Half the width of an interval in standard errors, 95 %; no less than Student's.

    Args:
        compared: how many are compared; one has nothing beside it, and its interval is Student's.
        freedom: degrees of freedom of the standard error.
    """
    student = float(special.stdtrit(freedom, 0.975))
    if compared <= 2:
        return student
    from scipy.stats import studentized_range  # most of a second, which two runs do not wait for

    return max(student, float(studentized_range.ppf(0.95, compared, freedom)) / 2)
