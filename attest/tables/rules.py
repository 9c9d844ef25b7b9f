"""The rules by which a table judges, with the date on which they were fixed, in the words that are printed below a table.

``comparison`` carries them out. They were not stated before all results: docs/reproduce.md says which rules came first, when
each was fixed, and what was known by then. A table says how many of its runs are older than ``RULES``.
"""

from dataclasses import dataclass

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
