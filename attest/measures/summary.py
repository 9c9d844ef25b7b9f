"""From one row per instance to the few numbers that people quote: mean, spread, interval, how many were undefined."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats


def summarise(rows: pd.DataFrame, by: str | None = "predicted") -> dict[str, float]:
    """Summarise every numeric column of a table with one row per instance.

    Args:
        rows: columns of numbers or booleans; NaN means undefined. Identity columns and lists are left out.
        by: column whose values split every mean once more (``<column>/mean/predicted_0``), where there is such a column.
    Returns:
        ``<column>/mean``, ``/std`` (over instances), ``/ci_low``, ``/ci_high`` (95 %, Student's t on the mean; of a share, in
        a column of zeros and ones, Clopper & Pearson 1934), ``/median``, ``/nan`` (undefined instances, left out of all
        others) and the means by group.
    """
    summary: dict[str, float] = {}
    for name, column in _measured_columns(rows):
        values = column.dropna().to_numpy()
        summary |= {f"{name}/{key}": value for key, value in _describe(values).items()}
        summary[f"{name}/nan"] = float(column.isna().sum())
        if by in rows:
            means = column.groupby(rows[by]).mean()
            summary |= {f"{name}/mean/{by}_{group}": float(mean) for group, mean in means.items()}
    return summary


IDENTITY = ("id", "loader", "label", "predicted", "length")
"""Columns that say which instance a row is about; no evidence, so not summarised."""


def _measured_columns(rows: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    for name in rows.columns:
        if name not in IDENTITY and (pd.api.types.is_numeric_dtype(rows[name])):
            yield name, rows[name].astype(float)


def _describe(values: np.ndarray) -> dict[str, float]:
    if len(values) == 0:
        return dict.fromkeys(("mean", "std", "ci_low", "ci_high", "median"), math.nan)
    mean, std = values.mean(), values.std(ddof=1) if len(values) > 1 else math.nan
    low, high = _interval(values, mean, std)
    described = {"mean": mean, "std": std, "ci_low": low, "ci_high": high, "median": np.median(values)}
    return {key: float(value) for key, value in described.items()}


def _interval(values: np.ndarray, mean: float, std: float) -> tuple[float, float]:
    """Of the mean, 95 %; undefined for a single value."""
    if set(values) == {0, 1}:
        return stats.binomtest(int(values.sum()), len(values)).proportion_ci(0.95, method="exact")
    margin = stats.t.ppf(0.975, len(values) - 1) * std / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return mean - margin, mean + margin
