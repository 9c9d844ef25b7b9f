"""One page for several runs that belong together: tables and figures, self-contained."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from attest.report.figures import to_svg
from attest.report.illustration import Illustration
from attest.report.saved_figures import embedded
from attest.report.templating import render
from attest.runs.folder import RunFolder, read_json, write_text

SCORES = ("f1", "chunk_f1", "token_f1", "accuracy")
DISTANCES = ("jsd", "jsd_matched", "kl", "tvd", "nll", "same")


def write_related_runs(path: Path, title: str, tables: Mapping[str, pd.DataFrame], figures: Sequence[Illustration]) -> None:
    """Write the page.

    Args:
        path: of the file.
        title: of the page.
        tables: by heading; empty ones are left out.
        figures: in order.
    """
    cells = {name: _cells(rows) for name, rows in tables.items() if len(rows)}
    drawn = embedded([(figure, to_svg(figure.drawing)) for figure in figures])
    write_text(path, render("related.html", title=title, tables=cells, figures=drawn))


def scores_of(run: RunFolder) -> dict[str, float]:
    """The test scores of a run that tables show."""
    summary = read_json(run.summary)
    return {name: summary[f"test/{name}"] for name in SCORES if f"test/{name}" in summary}


def distances_of(run: RunFolder, identity: str) -> dict[str, float]:
    """How far a run is from its base: means of the columns of ``attest.runs.comparison`` under an experiment's id."""
    summary = read_json(run.summary)
    return {name: summary[f"{identity}/{name}/mean"] for name in DISTANCES if f"{identity}/{name}/mean" in summary}


def _cells(rows: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Header and body as text; numbers with three decimals, missing ones as a dash."""
    body = [[_cell(value) for value in row] for row in rows.itertuples(index=False)]
    return [str(name) for name in rows.columns], body


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
