"""From one row per instance to the few numbers that people quote: mean, spread, interval, how many were undefined."""

import math
import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy import special


def summarise(rows: pd.DataFrame, by: str | None = "predicted") -> dict[str, float]:
    """Summarise every numeric column of a table with one row per instance.

    Args:
        rows: columns of numbers or booleans; NaN means undefined. Identity columns and lists are left out.
        by: column whose values split every mean once more (``<column>/mean/predicted_0``), where there is such a column.
    Returns:
        ``<column>/mean``, ``/std`` (over instances), ``/ci_low``, ``/ci_high`` (95 %, Student's t on the mean; where a column
        says yes or no of each instance, Clopper & Pearson 1934 on the share), ``/median``, ``/nan`` (undefined instances, left
        out of all others) and the means by group.
    """
    summary: dict[str, float] = {}
    for name, column in _measured_columns(rows):
        interval = _share_interval if _says_yes_or_no(rows[name]) else _mean_interval
        values = column.dropna().to_numpy()
        summary |= {f"{name}/{key}": value for key, value in _describe(values, interval).items()}
        summary[f"{name}/nan"] = float(column.isna().sum())
        if by in rows:
            means = column.groupby(rows[by]).mean()
            summary |= {f"{name}/mean/{by}_{group}": float(mean) for group, mean in means.items()}
    return summary


IDENTITY = ("id", "loader", "label", "predicted", "length")
"""Columns that say which instance a row is about; no evidence, so not summarised."""
YES_OR_NO = re.compile(
    r"significant_.+|(only_top|only_random|both|neither)(_support)?|flips_in_every_order|hangs_on_truth|trivial_(context|prediction)(_strict)?"
)
"""Columns of 0, 1 and NaN that say whether something holds where that may be undefined; where it is not, they are bool."""


def _measured_columns(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    for name in rows.columns:
        if name not in IDENTITY and (pd.api.types.is_numeric_dtype(rows[name])):
            yield name, rows[name].astype(float)


def _says_yes_or_no(column: pd.Series) -> bool:
    """By type or name, not by values: a share of 0 or 1 has an uncertainty, a distance that is 0 everywhere has none."""
    named = YES_OR_NO.fullmatch(str(column.name)) is not None and column.dropna().isin((0, 1)).all()
    return pd.api.types.is_bool_dtype(column) or named


Interval = Callable[[np.ndarray], tuple[float, float]]


def _describe(values: np.ndarray, interval: Interval) -> dict[str, float]:
    if len(values) == 0:
        return dict.fromkeys(("mean", "std", "ci_low", "ci_high", "median"), math.nan)
    low, high = interval(values)
    std = values.std(ddof=1) if len(values) > 1 else math.nan
    described = {"mean": values.mean(), "std": std, "ci_low": low, "ci_high": high, "median": np.median(values)}
    return {key: float(value) for key, value in described.items()}


def _mean_interval(values: np.ndarray) -> tuple[float, float]:
    """Student's 95 % interval of the mean of ``(N,)``; undefined for a single value."""
    mean, n = values.mean(), len(values)
    margin = special.stdtrit(n - 1, 0.975) * values.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    return mean - margin, mean + margin


def _share_interval(values: np.ndarray) -> tuple[float, float]:
    """Clopper & Pearson's exact 95 % interval of the share of ones in ``(N,)`` zeros and ones; never of width 0."""
    ones, zeros = int(values.sum()), int((1 - values).sum())
    low = float(special.betaincinv(ones, zeros + 1, 0.025)) if ones else 0.0
    high = float(special.betaincinv(ones + 1, zeros, 0.975)) if zeros else 1.0
    return low, high
