"""Which figures a table has: ours beside the published, and those that its file asks for."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from attest.report.evidence_figures import adversary_violins
from attest.report.page import illustrations
from attest.report.table_figures import against_sweep, one_against_another, ours_and_published
from attest.report.tables.table import SEEDS, Folders, evidence_rows
from attest.runs.folder import RunFolder
from attest.runs.published_tables import PublishedTable

Figures = Iterator[tuple[str, Figure]]
"""By file name."""


def table_figures(experiment: PublishedTable, numbers: pd.DataFrame, folders: Folders) -> dict[str, Figure]:
    """All figures of a table, by file name.

    Args:
        experiment: the table.
        numbers: all its numbers.
        folders: of finished runs.
    """
    measured = numbers[numbers["seeds"] > 0]
    judged = measured[measured["verdict"] != ""]
    figures = {"ours-and-published": ours_and_published(judged, experiment.title)} if len(judged) else {}
    for drawing in experiment.drawings if len(measured) else ():
        figures |= dict(DRAWINGS[drawing.draw](experiment, measured, folders, drawing.options))
    return figures


def _of_one_run(experiment: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """An illustration of the report, of the first seed of every row."""
    for (row, data, _), runs in folders.items():
        for folder in [runs[min(runs)]] if runs else []:
            possible = {each.key: each for each in illustrations(RunFolder(folder))}
            if options["illustration"] in possible:
                yield f"{data}-{slug(row)}", possible[options["illustration"]].drawing


def _against_sweep(experiment: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    label = next(row.sweep.label for row in experiment.rows.values() if row.sweep is not None)
    yield "against-sweep", against_sweep(numbers, options["columns"], label)


def _one_against_another(
    experiment: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]
) -> Figures:
    both = numbers[numbers["column"].isin([options["x"], options["y"]])]
    yield "one-against-another", one_against_another(both, options["x"], options["y"], options.get("gained"))


def _between_seeds(experiment: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """Of every row, its second seed against its first, as the report draws adversaries."""
    for (row, data, _), runs in folders.items():
        if len(runs) > 1 and (rows := evidence_rows(runs[sorted(runs)[1]], SEEDS)) is not None:
            classes = [str(k) for k in range(rows["predicted"].max() + 1)]
            yield f"{data}-{slug(row)}", adversary_violins(rows, "jsd", classes)


DRAWINGS: dict[str, Callable[[PublishedTable, pd.DataFrame, Folders, Mapping[str, Any]], Figures]] = {
    "of_one_run": _of_one_run,
    "against_sweep": _against_sweep,
    "one_against_another": _one_against_another,
    "between_seeds": _between_seeds,
}
"""What ``draw`` names in the file of a table."""


def slug(name: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")
