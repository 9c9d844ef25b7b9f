"""Ours against published, and one row against another, by ``RULES``: pure functions of a few numbers a seed.

Everything rests on one test: does the mean over seeds lie above a value?
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from attest.tables.definition import Column
from attest.tables.rules import (
    CONTRADICTED,
    DIFFERENT,
    ENOUGH_SEEDS,
    HOLDS,
    LEVEL,
    MEAN_ALONE,
    NEAR,
    PERHAPS,
    PERHAPS_DIFFERENT,
    PERHAPS_NEAR,
    PERHAPS_NOT,
    SHARE,
    TOO_FEW,
    UNTESTED,
)

ROUNDING = 1e-12
"""Standard deviation over seeds below which they are equal: one text of 357 in every seed proves nothing."""


@dataclass(frozen=True)
class Ours:
    """A number over seeds.

    Args:
        mean: NaN for no seeds.
        std: with n - 1; NaN for fewer than two seeds.
        seeds: how many.
    """

    mean: float
    std: float
    seeds: int

    @classmethod
    def over(cls, values: Sequence[float]) -> "Ours":
        """Of one value a seed, of which there may be none."""
        mean = float(np.mean(values)) if len(values) else math.nan
        return cls(mean, float(np.std(values, ddof=1)) if len(values) > 1 else math.nan, len(values))

    @property
    def spreads(self) -> bool:
        """Whether there is a spread over seeds to test with: enough seeds, that differ by more than rounding."""
        return self.seeds >= ENOUGH_SEEDS and self.std > ROUNDING

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % t-interval of the mean; NaN without a spread."""
        if not self.spreads:
            return math.nan, math.nan
        reach = float(special.stdtrit(self.seeds - 1, 1 - LEVEL)) * self.std / math.sqrt(self.seeds)
        return self.mean - reach, self.mean + reach

    def p_above(self, value: float) -> float:
        """One-sided p of a t-test: small where the mean over seeds lies above the value; NaN without a spread."""
        if not self.spreads:
            return math.nan
        return float(special.stdtr(self.seeds - 1, (value - self.mean) / (self.std / math.sqrt(self.seeds))))

    def __neg__(self) -> "Ours":
        return Ours(-self.mean, self.std, self.seeds)


def margin(published: float, column: Column) -> float:
    """How far from this published number is near: the column's margin, and at most half of its distance from no effect.

    Example:
        >>> margin(0.35, Column("τ", "key", margin=0.1)), margin(0.06, Column("τ", "key", margin=0.1))
        (0.1, 0.03)
    """
    distance = abs(published - column.neutral)
    return min(column.margin, SHARE * distance) if distance else column.margin


def judge_number(ours: Ours, published: float, column: Column) -> str:
    """By ``RULES.numbers``; ours has one seed at least.

    Example:
        >>> judge_number(Ours.over((0.30, 0.31, 0.32)), 0.35, Column("τ", "key", margin=0.1))
        'near'
    """
    return _within(ours, published, margin(published, column), (NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT))


def judge_claim(expect: str, difference: Ours, p_values: Sequence[float], allowed: float) -> str:
    """By ``RULES.claims``.

    Args:
        expect: ``less``, ``greater`` or ``equal``, of left against right.
        difference: left minus right, of one seed at least.
        p_values: one-sided, over the texts, one a seed that has its evidence; empty where texts cannot be paired.
        allowed: the margin of ``equal``.
    """
    if expect == "equal":
        return _within(difference, 0.0, allowed, (HOLDS, PERHAPS, PERHAPS_NOT, CONTRADICTED))
    if difference.seeds < ENOUGH_SEEDS:
        return TOO_FEW[difference.seeds - 1]
    claimed = -difference if expect == "less" else difference
    if claimed.p_above(0) < LEVEL:
        return _in_texts(p_values, difference.seeds)
    if (-claimed).p_above(0) < LEVEL:
        return CONTRADICTED
    return PERHAPS if claimed.mean > 0 else PERHAPS_NOT


def _in_texts(p_values: Sequence[float], seeds: int) -> str:
    """What the tests over texts add to a claim that holds over seeds."""
    if any(p >= LEVEL for p in p_values):
        return MEAN_ALONE
    return HOLDS if len(p_values) == seeds and all(p < LEVEL for p in p_values) else UNTESTED


def _within(ours: Ours, value: float, allowed: float, verdicts: tuple[str, str, str, str]) -> str:
    """Two one-sided tests against both edges of a margin: shown within, perhaps within, perhaps outside, shown outside."""
    if ours.seeds < ENOUGH_SEEDS:
        return TOO_FEW[ours.seeds - 1]
    above, below = ours.p_above(value - allowed), (-ours).p_above(-value - allowed)
    if above < LEVEL and below < LEVEL:
        return verdicts[0]
    if (-ours).p_above(allowed - value) < LEVEL or ours.p_above(value + allowed) < LEVEL:
        return verdicts[3]
    return verdicts[1] if abs(ours.mean - value) <= allowed else verdicts[2]
