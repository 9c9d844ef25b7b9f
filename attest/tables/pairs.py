"""One seed, two rows: their numbers text by text, and the one-sided tests of a claim over them."""

import math
from dataclasses import dataclass

import pandas as pd

from attest.measures import mcnemar

FEWEST = 2
"""Texts that a test needs."""


@dataclass(frozen=True)
class PairedTest:
    """What is kept of a test, so that another rule can judge it when the evidence is gone.

    Args:
        test: ``McNemar`` or ``Wilcoxon``.
        expect: the direction tested: left ``less`` or ``greater`` than right.
        pairs: texts of which both numbers are defined.
        above, below: in how many of them left is greater, and less.
        statistic: of Wilcoxon the sum of the ranks of positive differences, of McNemar ``above``; NaN where none differ.
        p: one-sided; NaN for fewer than two texts, 1 where none differ.
    """

    test: str
    expect: str
    pairs: int
    above: int
    below: int
    statistic: float
    p: float


def in_pairs(left: pd.Series, right: pd.Series) -> pd.DataFrame:
    """The texts of which both numbers are defined: ``left`` and ``right``, floats, indexed by text as these are."""
    return pd.concat({"left": left, "right": right}, axis=1, join="inner").dropna()


def paired_test(pairs: pd.DataFrame, expect: str) -> PairedTest:
    """Decisions (values 0 and 1 alone) by McNemar's exact test, other values by Wilcoxon's signed-rank test.

    Args:
        pairs: as from ``in_pairs``.
        expect: ``less`` or ``greater``.
    """
    differences = pairs["left"] - pairs["right"]
    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    decisions = bool(pairs.isin((0.0, 1.0)).all(axis=None))
    statistic, p = math.nan, math.nan if len(pairs) < FEWEST else 1.0
    if len(pairs) >= FEWEST and above + below:
        statistic, p = _mcnemar(pairs, expect) if decisions else _wilcoxon(differences, expect)
    return PairedTest("McNemar" if decisions else "Wilcoxon", expect, len(pairs), above, below, statistic, p)


def _mcnemar(pairs: pd.DataFrame, expect: str) -> tuple[float, float]:
    from scipy.stats import binomtest  # most of a second, which tables without pairs do not wait for

    decided = mcnemar(pairs["left"].to_numpy(bool), pairs["right"].to_numpy(bool))
    differing = decided.only_first + decided.only_second
    return decided.only_first, float(binomtest(decided.only_first, differing, alternative=expect).pvalue)


def _wilcoxon(differences: pd.Series, expect: str) -> tuple[float, float]:
    from scipy.stats import wilcoxon

    tested = wilcoxon(differences.to_numpy(), alternative=expect)
    return float(tested.statistic), float(tested.pvalue)
