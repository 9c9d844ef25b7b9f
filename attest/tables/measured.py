"""What a run folder says about one column of a table: a number and, for a mean, its values."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from attest.runs.comparison import compare_runs
from attest.runs.folder import INSTANCES, RunFolder, read_json
from attest.tables.definition import Column
from attest.tables.expression import evaluated, rows_where

PREDICTED = "/predicted_"
SEEDS = "E5"
"""The experiment that no run can hold alone: each seed against the first."""


def measured(folder: Path, column: Column) -> float | None:
    """The number of a run; None where the run has none, for lack of this evidence or because it is undefined.

    Args:
        folder: of a finished run.
        column: which quantity.
    """
    if column.key:
        value = summary_of(folder).get(column.key)
        return None if value is None else float(value)
    rows = evidence_rows(folder, column.table)
    if rows is None:
        return None
    values = _chosen(rows, column).dropna()
    return None if values.empty else float(values.agg(column.statistic))


def instance_values(folder: Path, column: Column) -> pd.Series | None:
    """One float an instance, indexed by id, of which the number is the mean; None where it is the mean of none.

    Empty where the table of evidence is not there, as in a folder that was kept without.
    """
    averaged = _as_average(column)
    if averaged is None:
        return None
    rows = evidence_rows(folder, averaged.table)
    return pd.Series(dtype=float) if rows is None else _chosen(rows, averaged)


def _as_average(column: Column) -> Column | None:
    """The column as the mean over a table of evidence, where it is one; accuracy is that of right decisions."""
    if column.table:
        return column if column.statistic == "mean" else None
    if column.key == "test/accuracy":
        return replace(column, key="", table=INSTANCES, value="label == predicted")
    identity, _, rest = column.key.partition("/")
    name, _, statistic = rest.partition("/")
    mean, _, predicted = statistic.partition(PREDICTED)
    if mean != "mean":
        return None
    return replace(column, key="", table=identity, value=name, where=f"predicted == {predicted}" if predicted else "")


def _chosen(rows: pd.DataFrame, column: Column) -> pd.Series:
    chosen = rows_where(column.where, rows) if column.where else rows
    return evaluated(column.value, chosen).set_axis(chosen["id"]).astype(float)


@lru_cache(maxsize=1024)
def summary_of(folder: Path) -> dict[str, Any]:
    """Of a finished run."""
    return read_json(RunFolder(folder).summary)


def _against_first_seed(run: RunFolder) -> pd.DataFrame | None:
    first = RunFolder(run.path.with_name("seed0"))
    there = all(folder.evidence(INSTANCES).is_file() for folder in (run, first))
    return compare_runs(first, run) if there and run.path != first.path else None


@lru_cache(maxsize=16)
def evidence_rows(folder: Path, identity: str) -> pd.DataFrame | None:
    """A table of evidence, or None where there is none."""
    if identity == SEEDS:
        return _against_first_seed(RunFolder(folder))
    path = RunFolder(folder).evidence(identity)
    if not path.is_file():
        return None
    return pd.read_parquet(path)
