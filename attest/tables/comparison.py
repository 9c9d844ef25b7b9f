"""Ours against published, and one row against another: the rules by which a table says *replicated*.

All are stated before anything is run: tolerances and directions in ``configs/experiments``, the rules themselves here, and
both are printed below every table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from attest.measures import mcnemar
from attest.tables.definition import Column, Quoted

REPLICATED, SAME_DIRECTION, NOT_REPLICATED = "replicated", "same direction", "not replicated"
NOT_RUN, UNDEFINED = "not run", "undefined"
"""What is said instead of a number: its runs are not there; they are, but it is undefined or its evidence missing."""
SPREADS = 2
"""Standard deviations over our seeds within which a published number, itself one run, is taken for one more of them."""
ENOUGH_SEEDS = 3
"""From how many seeds on their spread is taken for one; two may lie anywhere."""
LEVEL = 0.05

NUMBER_RULE = (
    f"A number is *{REPLICATED}* where our mean over seeds lies within the column's tolerance of the published one, or within "
    f"{SPREADS} standard deviations over our seeds (of {ENOUGH_SEEDS} at least), and on the same side of the column's neutral "
    f"value; *{SAME_DIRECTION}* where only the latter holds; else *{NOT_REPLICATED}*. A column without a neutral value has no "
    "direction."
)
CLAIM_RULE = (
    f"A claim that one number is less or greater than another is *{REPLICATED}* where it holds in every seed, of two at "
    f"least, and, where the two can be paired by instance, with p < {LEVEL} in every seed (McNemar's exact test for "
    "decisions, Wilcoxon's signed-rank test else), for which their evidence must be there; "
    f"*{SAME_DIRECTION}* where it holds for the means over seeds; else *{NOT_REPLICATED}*. A claim that they are equal is "
    f"*{REPLICATED}* where the means differ by no more than the column's tolerance. What can be paired is compared over the "
    "instances of which both numbers are defined."
)


@dataclass(frozen=True)
class Ours:
    """A number over seeds, of which there may be none."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over seeds; NaN where nothing was run."""
        return float(np.mean(self.values)) if self.values else np.nan

    @property
    def std(self) -> float:
        """Over seeds, with n - 1; NaN for fewer than two."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else np.nan


def difference_in_spreads(ours: Ours, published: float) -> float:
    """How many standard deviations over our seeds ours lies above the published one; NaN where there is no spread."""
    return (ours.mean - published) / ours.std if ours.std > 0 else np.nan


def judge_number(ours: Ours, published: Quoted, column: Column) -> str:
    """By ``NUMBER_RULE``; ours has one value at least.

    Example:
        >>> judge_number(Ours((0.30, 0.32)), Quoted.parse("0.35"), Column("τ", "key", tolerance=0.1, neutral=0.0))
        'replicated'
    """
    spread = ours.std if len(ours.values) >= ENOUGH_SEEDS else 0.0
    allowed = max(column.tolerance, SPREADS * spread)
    near = abs(ours.mean - published.value) <= allowed
    if column.neutral is None:
        return REPLICATED if near else NOT_REPLICATED
    if np.sign(ours.mean - column.neutral) != np.sign(published.value - column.neutral):
        return NOT_REPLICATED
    return REPLICATED if near else SAME_DIRECTION


def judge_claim(
    expect: str, left: Sequence[float], right: Sequence[float], p_values: Sequence[float], tolerance: float
) -> str:
    """By ``CLAIM_RULE``.

    Args:
        expect: ``less``, ``greater`` or ``equal``, of left against right.
        left, right: a number a seed, the same seeds in the same order, one at least.
        p_values: of the paired tests, one a seed, NaN where their evidence is missing; empty where the two cannot be paired.
        tolerance: for ``equal``.
    """
    differences = np.subtract(left, right)
    if expect == "equal":
        return REPLICATED if abs(differences.mean()) <= tolerance else NOT_REPLICATED
    differences = -differences if expect == "less" else differences
    if len(differences) > 1 and (differences > 0).all() and all(p < LEVEL for p in p_values):
        return REPLICATED
    return SAME_DIRECTION if differences.mean() > 0 else NOT_REPLICATED


def in_pairs(left: pd.Series, right: pd.Series) -> pd.DataFrame:
    """The instances of which both numbers are defined: ``left`` and ``right``, floats, indexed by instance as these are."""
    return pd.concat({"left": left, "right": right}, axis=1, join="inner").dropna()


def paired_p(pairs: pd.DataFrame) -> float:
    """Two-sided p of a paired test over instances; NaN for fewer than two.

    Decisions (values 0 and 1 alone) by McNemar's exact test, other values by Wilcoxon's signed-rank test. Two that never
    differ give 1.

    Args:
        pairs: as from ``in_pairs``.
    """
    if len(pairs) < 2:
        return np.nan
    if pairs.isin((0.0, 1.0)).all(axis=None):
        return mcnemar(pairs["left"].to_numpy(bool), pairs["right"].to_numpy(bool)).p_value
    differences = (pairs["left"] - pairs["right"]).to_numpy()
    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
