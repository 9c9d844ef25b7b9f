"""Ours against published, and one row against another, by ``RULES``: pure functions of a few numbers a seed.

Everything rests on one test: does the mean over seeds lie above a value?

The rules by which a table judges, with the date on which they were fixed, in the words that are printed below a table.

``comparison`` carries them out. They were not stated before all results: docs/reproduce.md says which rules came first, when
each was fixed, and what was known by then. A table says how many of its runs are older than ``RULES``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from attest.runs.published_tables import Column

LEVEL = 0.05
"""Of every one-sided test; two of them make the 90 % interval of a mean over seeds."""
ENOUGH_SEEDS = 3
"""Fewer say nothing of how far seeds lie apart."""
SHARE = 0.5
"""A margin is at most this share of how far the published number lies from no effect: what is near keeps half of its size."""

NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT = "near", "perhaps near", "perhaps different", "different"
HOLDS, UNTESTED, MEAN_ALONE = (
    "holds",
    "holds over seeds, texts not tested",
    "holds for the mean, not in the texts of every seed",
)
PERHAPS, PERHAPS_NOT, CONTRADICTED = "perhaps", "perhaps not", "contradicted"
NOT_RUN, UNDEFINED = "not run", "undefined"
"""What is said instead of a number: its runs are not there; they are, but it is undefined or its evidence missing."""
TOO_FEW = ("one seed: cannot say", "two seeds: cannot say")
NUMBER_VERDICTS = (NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT, *TOO_FEW, UNDEFINED, NOT_RUN)
CLAIM_VERDICTS = (HOLDS, UNTESTED, MEAN_ALONE, PERHAPS, PERHAPS_NOT, CONTRADICTED, *TOO_FEW, UNDEFINED, NOT_RUN)


@dataclass(frozen=True)
class Rules:
    """How numbers and claims are judged.

    Args:
        fixed: the day on which this was settled, ``YYYY-MM-DD``.
        known: the results that were known by then.
        numbers, claims: the rules, as printed.
    """

    fixed: str
    known: str
    numbers: str
    claims: str


RULES = Rules(
    fixed="2026-11-23",
    known="all results of 2026-11-21 and 2026-11-22, so every table of those days is judged by rules that are younger than it",
    numbers=(
        f"A number is judged by two one-sided t-tests over seeds at {LEVEL}, which ask whether the mean of our seeds lies "
        "within a margin of the published number. The margin is the column's, and at most half of the distance of the "
        "published number from no effect (0, or chance where the column says so). "
        f"*{NEAR}*: the 90 % interval of our mean lies within the margin. *{DIFFERENT}*: it lies outside of it. "
        f"*{PERHAPS_NEAR}*: the interval crosses the edge of the margin, the mean lies within. "
        f"*{PERHAPS_DIFFERENT}*: the interval crosses the edge, the mean lies outside. Fewer than {ENOUGH_SEEDS} seeds cannot "
        "say. A wider spread over seeds can only take a verdict away; where seeds do not differ at all, nothing is known of "
        "their spread, so the verdict begins with *perhaps*. A published number is judged once; what is shown beside it and "
        "not judged has no verdict."
    ),
    claims=(
        "A claim is about the mean over texts: over those of which both numbers are defined, where the two are paired. That "
        "one number is less or greater is tested in this direction alone: over seeds, by a one-sided t-test on the "
        "differences; over texts, in every seed, by McNemar's exact test for decisions and by Wilcoxon's signed-rank test "
        "else, which is about the ranks of the differences and so guards against a mean that a few texts make. "
        f"*{HOLDS}*: p < {LEVEL} over seeds and over the texts of every seed. *{UNTESTED}*: p < {LEVEL} over seeds, and the "
        f"texts cannot be paired or their evidence was not kept. *{MEAN_ALONE}*: p < {LEVEL} over seeds, p ≥ {LEVEL} over the "
        f"texts of some seed. *{CONTRADICTED}*: p < {LEVEL} over seeds for the opposite. *{PERHAPS}* and *{PERHAPS_NOT}*: "
        "neither, and the mean is as claimed or is not. That two numbers are equal "
        f"*{HOLDS}* where the 90 % interval of their difference lies within the column's margin, is *{CONTRADICTED}* where "
        f"it lies outside of it, else *{PERHAPS}* or *{PERHAPS_NOT}*, by the mean. Fewer than {ENOUGH_SEEDS} seeds cannot say."
    ),
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
