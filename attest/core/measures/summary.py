"""Summaries of tables with one row per instance: means, standard deviations, intervals, and counts of undefined instances."""

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import special


def summarise(rows: pd.DataFrame, by: str | None = "predicted") -> dict[str, float]:
    """Compute statistics, such as mean and interval, of each numeric column of a table with one row per instance.

    Args:
        rows: columns of numbers or booleans; NaN means undefined. Identity columns and lists are left out.
        by: column whose values split every mean once more (``<column>/mean/predicted_0``), where there is such a column;
            ``asked`` in its place, where each instance is asked about one of several labels.
    Returns:
        ``<column>/mean``, ``/std`` (over instances), ``/ci_low``, ``/ci_high`` (95 %, Student's t on the mean; of shares as
        ``share_interval`` has it), ``/median``, ``/nan`` (undefined instances, left out of all others) and the means by group.
    """
    summary: dict[str, float] = {}
    by = "asked" if "asked" in rows and by is not None else by
    for name in rows.columns:
        if name in IDENTITY or not pd.api.types.is_numeric_dtype(rows[name]):
            continue
        column = rows[name].astype(float)
        named = SHARES.fullmatch(str(name)) is not None and column.dropna().between(0, 1).all()
        interval = share_interval if pd.api.types.is_bool_dtype(rows[name]) or named else _mean_interval
        values = column.dropna().to_numpy()
        summary |= {f"{name}/{key}": value for key, value in _describe(values, interval).items()}
        summary[f"{name}/nan"] = float(column.isna().sum())
        if by in rows:
            means = column.groupby(rows[by]).mean()
            summary |= {f"{name}/mean/{by}_{group}": float(mean) for group, mean in means.items()}
    return summary


IDENTITY = ("id", "loader", "text", "asked", "label", "predicted", "prediction", "length")
"""Columns that say which instance a row is about; no evidence, so not summarised."""
SHARES = re.compile(
    r"significant_.+|(only_top|only_random|both|neither)(_support)?|flips_in_every_order|hangs_on_truth|trivial_(context|prediction)(_strict)?"
    r"|(win|violation|won|flipped|correct|support|fraction|concordant|depth|auprc)(_.+)?|same|share"
)
"""Columns in [0, 1] that say of each instance whether something holds, or in what share of draws, tokens or pairs."""


Interval = Callable[[np.ndarray], tuple[float, float]]


def _describe(values: np.ndarray, interval: Interval) -> dict[str, float]:
    if len(values) == 0:
        return dict.fromkeys(("mean", "std", "ci_low", "ci_high", "median"), math.nan)
    low, high = interval(values)
    std = values.std(ddof=1) if len(values) > 1 else math.nan
    described = {"mean": values.mean(), "std": std, "ci_low": low, "ci_high": high, "median": np.median(values)}
    return {key: float(value) for key, value in described.items()}


def _mean_interval(values: np.ndarray) -> tuple[float, float]:
    mean, n = values.mean(), len(values)
    margin = special.stdtrit(n - 1, 0.975) * values.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    return mean - margin, mean + margin


def share_interval(values: np.ndarray) -> tuple[float, float]:
    """Compute the 95 % interval, within [0, 1], of the mean of shares ``(N,)``.

    It is Clopper & Pearson's interval (1934) for the number of zeros and ones that tell as much as the values do (Korn &
    Graubard 1998).
    """
    n, mean, variance = float(len(values)), float(values.mean()), float(values.var())
    if 0 < mean < 1:
        if variance < 1e-12:
            return (mean, mean) if n > 1 else (math.nan, math.nan)
        n = n * mean * (1 - mean) / variance
        n *= (special.stdtrit(n - 1, 0.975) / special.stdtrit(len(values) - 1, 0.975)) ** 2
    ones, zeros = n * mean, n * (1 - mean)
    low = float(special.betaincinv(ones, zeros + 1, 0.025)) if ones else 0.0
    high = float(special.betaincinv(ones + 1, zeros, 0.975)) if zeros else 1.0
    return low, high


def area_between(shares: Sequence[float], upper: Sequence[float], lower: Sequence[float]) -> float:
    """Compute the signed area between two curves with x values ``shares``; positive if ``upper`` is above ``lower``."""
    return float(np.trapezoid(np.subtract(upper, lower), shares))


def racu(shares: Sequence[float], random: Sequence[float], explained: Sequence[float]) -> float:
    """Compute RACU (Madsen et al. 2022, §4.3): relative area between an explanation's and a random erasure curve.

    The most there is to gain is to fall at once to the score of texts that are erased whole.

    Args:
        shares: of tokens erased, rising to the last, where all are.
        random, explained: scores, erased at random and as an explanation ranks them.
    Returns:
        At most about 1, 0 for random, below 0 for worse; NaN where erasing everything costs nothing.
    """
    most = area_between(shares, random, [random[-1]] * len(random))
    return area_between(shares, random, explained) / most if most > 0 else float("nan")


def knee(x: np.ndarray, y: np.ndarray) -> int | None:
    """Find the point of a rising curve that lies farthest below its chord (Satopaa et al. 2011, Kneedle).

    Both axes are scaled to [0, 1] between the ends of the curve, so units do not matter.

    Args:
        x, y: ``(N,)``, in any order; what is gained and what it costs.
    Returns:
        Which point; None where fewer than three differ in x, where the curve does not rise, or where none lies below the
        chord, so that there is no bend.
    """
    order = np.argsort(x, kind="stable")
    along, up = np.asarray(x, float)[order], np.asarray(y, float)[order]
    if len(np.unique(along)) < 3 or up[-1] <= up[0]:
        return None
    below = (along - along[0]) / (along[-1] - along[0]) - (up - up[0]) / (up[-1] - up[0])
    best = int(below.argmax())
    return int(order[best]) if below[best] > 1e-9 else None
