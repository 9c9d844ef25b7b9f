"""Compute ``summary.json``, a flat file with a version that tables over many runs are made of."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from attest.core.measures import summarise
from attest.runs.folder import INSTANCES, RunFolder, read_json

VERSION = 1


def summarise_run(
    folder: RunFolder, expected_tables: Iterable[str], scores: dict[str, float], monitor: str, mode: str
) -> dict[str, Any]:
    """Return all numbers of a run that are the same when they are computed again.

    Args:
        folder: the folder of the run, whose curves and evidence are read.
        expected_tables: the ids of the experiments whose tables are summarised.
        scores: the scores on the test split, such as ``test/accuracy``.
        monitor, mode: the validation score that chose the best epoch, and whether the best is its ``max`` or its ``min``.
    Returns:
        ``version``, ``test/…``, ``best/epoch`` and its ``best/validation/…`` if an epoch was validated, and
        ``<id>/<column>/<statistic>``.
    """
    validated = [epoch for epoch in read_json(folder.curves) if epoch.get(monitor) is not None]
    summary: dict[str, Any] = {"version": VERSION} | scores
    if validated:
        best = (max if mode == "max" else min)(validated, key=lambda epoch: epoch[monitor])
        summary |= {"best/epoch": best["epoch"]}
        summary |= {f"best/{name}": value for name, value in best.items() if name.startswith("validation/")}
    return summary | summarise_tables(folder, expected_tables)


def summarise_tables(folder: RunFolder, expected_tables: Iterable[str]) -> dict[str, float]:
    """Return ``<id>/<column>/<statistic>`` of all tables, and how many texts an experiment read that stopped early."""
    summary: dict[str, float] = {}
    stopped = folder.stopped_evidence()
    for experiment in sorted({*expected_tables} - {INSTANCES}):
        rows = pd.read_parquet(folder.evidence(experiment))
        summary |= {f"{experiment}/{key}": value for key, value in summarise(rows).items()}
        summary |= stopped[experiment].summary if experiment in stopped else {}
    return summary
