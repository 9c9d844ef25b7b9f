"""One page for several runs that belong together: tables and figures, self-contained; the console says the same."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from attest.report.conclusion import Conclusion
from attest.report.console import as_text
from attest.report.figures import to_svg
from attest.report.illustration import Illustration
from attest.report.related_table import DISTANCES, SCORES, related_table
from attest.report.saved_figures import embedded
from attest.report.tables import PAGE
from attest.report.templating import render
from attest.runs.folder import RunFolder, read_json, write_text


def write_related_runs(
    path: Path,
    title: str,
    tables: Mapping[str, pd.DataFrame],
    figures: Sequence[Illustration],
    conclusions: Sequence[Conclusion] = (),
) -> str:
    """Write the page.

    Args:
        path: of the file.
        title: of the page.
        tables: by heading, as ``related_table`` takes them; empty ones are left out.
        figures: in order; they stand below the first table.
        conclusions: what the page begins with.
    Returns:
        What it says and its tables, for a terminal.
    """
    shown = {name: related_table(rows, path) for name, rows in tables.items() if len(rows)}
    drawn = embedded([(figure, to_svg(figure.drawing)) for figure in figures])
    write_text(path, render("related.html", title=title, tables=shown, figures=drawn, conclusions=conclusions))
    return as_text(shown, conclusions, shutil.get_terminal_size((PAGE, 1)).columns)


def scores_of(run: RunFolder) -> dict[str, float]:
    """The test scores of a run that tables show."""
    summary = read_json(run.summary)
    return {name: summary[f"test/{name}"] for name in SCORES if f"test/{name}" in summary}


def distances_of(run: RunFolder, identity: str) -> dict[str, float]:
    """How far a run is from its base: means of the columns of ``attest.runs.comparison`` under an experiment's id."""
    summary = read_json(run.summary)
    return {name: summary[f"{identity}/{name}/mean"] for name in DISTANCES if f"{identity}/{name}/mean" in summary}
