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
        rows: columns of numbers or booleans; NaN means undefined. Identity columns and lists are left out. If the table has
            the columns ``asked`` and ``text``, several rows are about one text: intervals are then over texts.
        by: a column; for each of its values, means of all columns are added (``<column>/mean/predicted_0``). If the table has
            a column ``asked``, because each instance is about one of several labels, ``asked`` replaces it. None for no such
            means.
    Returns:
        ``<column>/mean``, ``/std`` (over instances), ``/ci_low``, ``/ci_high`` (95 %, by Student's t; for shares by
        ``share_interval``), ``/median``, ``/nan`` (number of undefined instances, which the other statistics leave out) and
        the means by group.
    """
    summary: dict[str, float] = {}
    several = {"asked", "text"} <= {*rows.columns}
    by = "asked" if "asked" in rows and by is not None else by
    for name in rows.columns:
        if name in IDENTITY or not pd.api.types.is_numeric_dtype(rows[name]):
            continue
        column = rows[name].astype(float)
        named = SHARES.fullmatch(str(name)) is not None and column.dropna().between(0, 1).all()
        interval = share_interval if pd.api.types.is_bool_dtype(rows[name]) or named else _mean_interval
        values = column.dropna()
        texts = rows["text"][values.index].to_numpy() if several else None
        summary |= {f"{name}/{key}": value for key, value in _describe(values.to_numpy(), texts, interval).items()}
        summary[f"{name}/nan"] = float(column.isna().sum())
        if by in rows:
            means = column.groupby(rows[by]).mean()
            summary |= {f"{name}/mean/{by}_{group}": float(mean) for group, mean in means.items()}
    return summary


IDENTITY = ("id", "loader", "text", "asked", "label", "predicted", "prediction", "length")
"""The columns that say which instance a row of a table is about, or what was decided about it. No means are computed of
them."""
SHARES = re.compile(
    r"significant_.+|right(_.+)?|needs_words|(only_top|only_random|both|neither)(_support)?|flips_in_every_order|hangs_on_truth|trivial_(context|prediction)(_strict)?"
    r"|(win|violation|won|flipped|correct|support|fraction|concordant|depth|auprc)(_.+)?|same|share"
)
"""Matches the columns with values in [0, 1]: whether something holds for an instance, or the share of its draws, tokens or
pairs for which it holds. Their means get a confidence interval for proportions."""


def by_text(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one row for each text: the means over the labels that were asked about, if there are several."""
    return rows.groupby("text").mean(numeric_only=True) if {"asked", "text"} <= {*rows.columns} else rows


Interval = Callable[[np.ndarray, np.ndarray | None], tuple[float, float]]


def _describe(values: np.ndarray, texts: np.ndarray | None, interval: Interval) -> dict[str, float]:
    if len(values) == 0:
        return dict.fromkeys(("mean", "std", "ci_low", "ci_high", "median"), math.nan)
    low, high = interval(values, texts)
    std = values.std(ddof=1) if len(values) > 1 else math.nan
    described = {"mean": values.mean(), "std": std, "ci_low": low, "ci_high": high, "median": np.median(values)}
    return {key: float(value) for key, value in described.items()}


def _spread(values: np.ndarray, texts: np.ndarray | None) -> tuple[int, float]:
    """Return the number n of texts, and the variance of the mean of their values but for the factor n / (n - 1).

    The values of one text may be alike, so that they count together (Liang & Zeger 1986).
    """
    away = values - values.mean()
    if texts is not None:
        away = np.bincount(np.unique(texts, return_inverse=True)[1], away)
    return len(away), float((away**2).sum()) / len(values) ** 2


def _mean_interval(values: np.ndarray, texts: np.ndarray | None = None) -> tuple[float, float]:
    mean, (n, variance) = values.mean(), _spread(values, texts)
    margin = special.stdtrit(n - 1, 0.975) * math.sqrt(variance * n / (n - 1)) if n > 1 else math.nan
    return mean - margin, mean + margin


def share_interval(values: np.ndarray, texts: np.ndarray | None = None, level: float = 0.95) -> tuple[float, float]:
    """Compute an interval, by default of 95 %, within [0, 1], of the mean of shares ``(N,)``.

    It is Clopper & Pearson's interval (1934). Its sample size is the number of zeros and ones that would carry as much
    information as the values (the effective sample size; Korn & Graubard 1998).

    Args:
        texts: ``(N,)``, the text of each share, if several shares are of one text; the interval is then over texts.
        level: the probability with which it holds the mean.
    """
    mean, (texts_read, variance), tail = float(values.mean()), _spread(values, texts), (1 - level) / 2
    n = float(texts_read)
    if 0 < mean < 1:
        if variance * len(values) < 1e-12:
            return (mean, mean) if texts_read > 1 else (math.nan, math.nan)
        n = mean * (1 - mean) / variance
        n *= (special.stdtrit(n - 1, 1 - tail) / special.stdtrit(texts_read - 1, 1 - tail)) ** 2
    ones, zeros = n * mean, n * (1 - mean)
    low = float(special.betaincinv(ones, zeros + 1, tail)) if ones else 0.0
    high = float(special.betaincinv(ones + 1, zeros, 1 - tail)) if zeros else 1.0
    return low, high


def area_between(shares: Sequence[float], upper: Sequence[float], lower: Sequence[float]) -> float:
    """Compute the signed area between two curves with x values ``shares``; positive if ``upper`` is above ``lower``."""
    return float(np.trapezoid(np.subtract(upper, lower), shares))


def racu(shares: Sequence[float], random: Sequence[float], explained: Sequence[float]) -> float:
    """Compute RACU (Madsen et al. 2022, §4.3): relative area between an explanation's and a random erasure curve.

    The area is divided by the largest possible area: that of a curve which falls at once to the score of fully erased texts.

    Args:
        shares: shares of erased tokens, in ascending order; at the last share, all tokens are erased.
        random, explained: scores if tokens are erased in random order, and in the order of an explanation.
    Returns:
        At most about 1, 0 for random, below 0 for worse; NaN if erasing everything costs nothing.
    """
    most = area_between(shares, random, [random[-1]] * len(random))
    return area_between(shares, random, explained) / most if most > 0 else float("nan")


def knee(x: np.ndarray, y: np.ndarray) -> int | None:
    """Find the point of a rising curve that lies farthest below its chord (Satopaa et al. 2011, Kneedle).

    Both axes are scaled to [0, 1] between the ends of the curve, so units do not matter.

    Args:
        x, y: ``(N,)``, in any order; x is what is gained and y is what it costs.
    Returns:
        The index of this point; None if x has fewer than three different values, if the curve does not rise, or if no point
        lies below the chord.
    """
    order = np.argsort(x, kind="stable")
    along, up = np.asarray(x, float)[order], np.asarray(y, float)[order]
    if len(np.unique(along)) < 3 or up[-1] <= up[0]:
        return None
    below = (along - along[0]) / (along[-1] - along[0]) - (up - up[0]) / (up[-1] - up[0])
    best = int(below.argmax())
    return int(order[best]) if below[best] > 1e-9 else None
