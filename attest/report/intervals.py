"""95 % intervals of the mean of a number, and whether two of them lie apart."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from scipy import stats

from attest.measures.numbers import interval

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


def over_texts(summary: Mapping[str, Any], key: str) -> Interval | None:
    """Of the texts of one run, as its summary has it; None of a number that has none.

    Args:
        summary: of the run.
        key: ``E7/jsd``.
    """
    known = [summary.get(f"{key}/{part}") for part in PARTS]
    defined = [float(each) for each in known if each is not None and not math.isnan(each)]
    return Interval(*defined) if len(defined) == len(PARTS) else None


def over_seeds(values: Sequence[float]) -> Interval | None:
    """Student's interval of the mean over seeds; None of fewer than two, which say nothing of any other."""
    if len(values) < 2:
        return None
    margin = float(stats.t.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return Interval(fmean(values), fmean(values) - margin, fmean(values) + margin)
