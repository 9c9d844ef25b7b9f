"""One page for several runs that belong together: tables and figures, self-contained."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from attest.measures.numbers import number
from attest.report.figures import to_svg
from attest.report.illustration import Illustration
from attest.report.saved_figures import embedded
from attest.report.templating import render
from attest.runs.folder import RunFolder, read_json, write_text

SCORES = ("f1", "chunk_f1", "token_f1", "accuracy")
HEADINGS = {
    **{"f1": "F1", "chunk_f1": "F1 of chunks", "token_f1": "F1 of tokens", "accuracy": "accuracy", "lambda": "λ"},
    "jsd": "JSD of attention to the base, nats",
    "jsd_matched": "JSD of attention to the base, heads matched, nats",
    "kl": "KL of attention to the base, nats",
    "tvd": "TVD of predictions to the base",
    "nll": "negative log-likelihood of the base's tags",
    "same": "same decisions, share",
}
"""What a reader sees of the names of columns."""
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
    body = [
        [_cell(name, value) for name, value in zip(rows.columns, row, strict=True)] for row in rows.itertuples(index=False)
    ]
    return [HEADINGS.get(str(name), str(name)) for name in rows.columns], body


def _cell(name: object, value: object) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if name == "lambda" else _rounded(value)


def _rounded(value: float) -> str:
    """Three decimals; of what is no zero and would be written as one, that it is smaller."""
    return "< 0.001" if 0 < value < 0.0005 else number(value)
