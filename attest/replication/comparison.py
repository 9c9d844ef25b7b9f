"""Compare our numbers with published ones, and one row with another, by the rules in ``RULES``, which are printed below each
table. Every judgement rests on one test: does the mean over seeds lie above a value? “Published tables” in the
documentation says when each rule was fixed and which results were known by then. A table says how many of its
runs are older than the rules.
"""

import math
from collections.abc import Sequence

from scipy import special

from attest.core.measures import OverSeeds, standard_errors
from attest.core.measures.comparison import LEVEL
from attest.runs.published_tables import PublishedColumn

ENOUGH_SEEDS = 3
SHARE = 0.5
"""Our number counts as near a published one if it lies within a margin. The margin is at most this share of the distance
between the published number and no effect (0, or chance)."""

NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT = "near", "perhaps near", "perhaps different", "different"
HOLDS, UNTESTED, MEAN_ALONE = (
    "holds",
    "holds over seeds, texts not tested",
    "holds for the mean, not in the texts of every seed",
)
PERHAPS, PERHAPS_NOT, CONTRADICTED = "perhaps", "perhaps not", "contradicted"
NOT_RUN, UNDEFINED = "not run", "undefined"
"""The words in the place of a missing number: the first if the runs for it do not exist, the second if the runs exist but the
number is undefined in them."""
TOO_FEW = ("one seed: cannot say", "two seeds: cannot say")
NUMBER_VERDICTS = (NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT, *TOO_FEW, UNDEFINED, NOT_RUN)
CLAIM_VERDICTS = (HOLDS, UNTESTED, MEAN_ALONE, PERHAPS, PERHAPS_NOT, CONTRADICTED, *TOO_FEW, UNDEFINED, NOT_RUN)


RULES = {
    "fixed": "2026-11-23",
    "known": (
        "all results of 2026-11-21 and 2026-11-22, so every table of those days is judged by rules that are younger than it"
    ),
    "numbers": (
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
    "claims": (
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
}
"""The rules by which the numbers and claims of published tables are judged, and which results were known when the rules were
fixed. They are printed below each table."""


ROUNDING = 1e-12
"""Values of several seeds count as equal if their standard deviation is at most this; no t-test is then made."""


def can_be_tested(ours: OverSeeds) -> bool:
    """Return whether a t-test over seeds is possible: there are enough seeds, and their values differ."""
    return ours.seeds >= ENOUGH_SEEDS and ours.std > ROUNDING


def interval_90(ours: OverSeeds) -> tuple[float, float]:
    """Return the 90 % t-interval of the mean over seeds; NaN if the mean cannot be tested."""
    return ours.interval(standard_errors(ours.seeds - 1, 0.9)) if can_be_tested(ours) else (math.nan, math.nan)


def p_above(ours: OverSeeds, value: float) -> float:
    """Return the p-value of a one-sided t-test that the mean over seeds is above ``value``; NaN without a test."""
    if not can_be_tested(ours):
        return math.nan
    return float(special.stdtr(ours.seeds - 1, (value - ours.mean) / (ours.std / math.sqrt(ours.seeds))))


def margin(published: float, column: PublishedColumn) -> float:
    """Return the largest difference at which our number still counts as near the published number.

    Example:
        >>> margin(0.35, PublishedColumn("τ", "key", margin=0.1)), margin(0.06, PublishedColumn("τ", "key", margin=0.1))
        (0.1, 0.03)
    """
    distance = abs(published - column.neutral)
    return min(column.margin, SHARE * distance) if distance else column.margin


def judge_number(ours: OverSeeds, published: float, column: PublishedColumn) -> str:
    """Judge our number against the published number by ``RULES["numbers"]``, and return the verdict.

    Example:
        >>> judge_number(OverSeeds.of((0.30, 0.31, 0.32)), 0.35, PublishedColumn("τ", "key", margin=0.1))
        'near'
    """
    return _within(ours, published, margin(published, column), (NEAR, PERHAPS_NEAR, PERHAPS_DIFFERENT, DIFFERENT))


FAMILIES = (
    f"Claims of one *family* are judged together: m claims on a corpus each at {LEVEL} / m, over seeds and over texts "
    "(Bonferroni; fixed on 2026-11-28, before any family was run). So an interval that shows equality is wider than 90 %: it "
    f"is one of 1 − {2 * LEVEL:g} / m."
)
"""The rule for several claims that are judged together (a family); it is printed below the tables that have such claims."""


def judge_claim(expect: str, difference: OverSeeds, p_values: Sequence[float], allowed: float, together: int = 1) -> str:
    """Judge a claim by ``RULES["claims"]``, from differences over seeds and p-values over texts; return the verdict.

    Args:
        p_values: the one-sided p over texts of each seed with evidence; empty if texts cannot be paired.
        together: how many claims are judged together, as ``FAMILIES`` says.
    """
    level = LEVEL / together
    if expect == "equal":
        return _within(difference, 0.0, allowed, (HOLDS, PERHAPS, PERHAPS_NOT, CONTRADICTED), level)
    if difference.seeds < ENOUGH_SEEDS:
        return TOO_FEW[difference.seeds - 1]
    claimed = -difference if expect == "less" else difference
    if p_above(claimed, 0) < level:
        if any(p >= level for p in p_values):
            return MEAN_ALONE
        return HOLDS if len(p_values) == difference.seeds and all(p < level for p in p_values) else UNTESTED
    if p_above(-claimed, 0) < level:
        return CONTRADICTED
    return PERHAPS if claimed.mean > 0 else PERHAPS_NOT


def _within(ours: OverSeeds, value: float, allowed: float, verdicts: tuple[str, str, str, str], level: float = LEVEL) -> str:
    if ours.seeds < ENOUGH_SEEDS:
        return TOO_FEW[ours.seeds - 1]
    above, below = p_above(ours, value - allowed), p_above(-ours, -value - allowed)
    if above < level and below < level:
        return verdicts[0]
    if p_above(-ours, allowed - value) < level or p_above(ours, value + allowed) < level:
        return verdicts[3]
    return verdicts[1] if abs(ours.mean - value) <= allowed else verdicts[2]
