"""A table of several runs as a reader sees it: words and units for columns, rounded numbers, rows under their question."""

import os
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from attest.core.measures.numbers import rounded
from attest.experiments.registry import EXPERIMENTS
from attest.report.described import QUESTIONS
from attest.report.described import SCORES as DESCRIBED
from attest.report.figures import Illustration, embedded, to_svg
from attest.report.run_tables import PAGE
from attest.report.templating import render
from attest.runs.folder import RunFolder, read_json, write_text

SCORES = ("f1", "chunk_f1", "token_f1", "accuracy")
DISTANCES = ("jsd", "jsd_matched", "kl", "tvd", "nll", "same")
"""Columns of E7, which every run that was compared with a base has."""
UNIT_OF_MEAN = {"0 or 1": "share"}
"""Of a column that says yes or no of each text the mean is a share."""


def _heading(column: str) -> str:
    """What the spec of E7 calls a distance to the base, and its unit."""
    spec = EXPERIMENTS["E7"]
    title = next(measure.title for measure in spec.measures if measure.column == column)
    unit = getattr(spec.column(column), "unit", "")
    return ", ".join(filter(None, (title[0].upper() + title[1:], UNIT_OF_MEAN.get(unit, unit))))


HEADINGS = {
    **{key.removeprefix("test/"): score.title for key, score in DESCRIBED.items()},
    **{"chunk_f1": "F1 of chunks", "token_f1": "F1 of tokens", "lambda": "λ", "knee": "Knee of the curve"},
    **{"name": "Run", "reading": "Reading", "share erased": "Share of tokens erased"},
    **{"area": "Area to random erasure", "RACU": "RACU, share of the largest area"},
    **{column: _heading(column) for column in DISTANCES},
}
"""What a reader sees of the names of columns."""
EXPERIMENT, REPORT = "experiment", "report"
"""Columns that are not shown as such: under whose question a row stands, and where its first cell leads."""
LONG = 12
"""Rows that a page shows at once."""


@dataclass(frozen=True)
class Row:
    """Cells as text, and where the first of them leads; None where there is no page."""

    cells: list[str]
    link: str | None


@dataclass(frozen=True)
class Table:
    """A header, and rows in groups; experiment and question of a group are empty where rows have none."""

    header: list[str]
    groups: list[tuple[str, str, list[Row]]]

    @property
    def is_long(self) -> bool:
        """Whether it scrolls within the page."""
        return sum(len(rows) for _, _, rows in self.groups) > LONG


def related_table(rows: pd.DataFrame, page: Path) -> Table:
    """A table for a page; columns without any value are left out.

    Args:
        rows: one a run; ``experiment`` and ``report`` as above, where there are such columns.
        page: from which links lead.
    """
    hidden = [column for column in (EXPERIMENT, REPORT) if column in rows]
    shown = rows.drop(columns=hidden)
    shown = shown[[column for column in shown if any(_says_something(value) for value in shown[column])]]
    of = rows[EXPERIMENT] if EXPERIMENT in rows else [""] * len(rows)
    leads = rows[REPORT] if REPORT in rows else [None] * len(rows)
    cells = [Row(each, _link(lead, page)) for each, lead in zip(_body(shown), leads, strict=True)]
    grouped = groupby(zip(of, cells, strict=True), key=lambda pair: pair[0])
    groups = [(name, QUESTIONS.get(name, ""), [row for _, row in pairs]) for name, pairs in grouped]
    return Table([HEADINGS.get(str(name), str(name)) for name in shown], groups)


def _says_something(value: object) -> bool:
    return not (value is None or value is False or (isinstance(value, float) and np.isnan(value)))


def _link(report: Path | None, page: Path) -> str | None:
    if report is None or not report.is_file():
        return None
    return os.path.relpath(report, page.parent).replace(os.sep, "/")


def _body(rows: pd.DataFrame) -> Iterator[list[str]]:
    for row in rows.itertuples(index=False):
        yield [_cell(str(name), value) for name, value in zip(rows.columns, row, strict=True)]


def _cell(name: str, value: object) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    if not isinstance(value, float):
        return str(value)
    return plain(value) if name == "lambda" else rounded(value)


def plain(value: float) -> str:
    """λ and the like with all its digits and no exponent: ``0.00001``."""
    return np.format_float_positional(value, trim="-")


def exceeds(value: float, other: float) -> bool:
    """Whether one number is larger as both are written; what a reader sees as the same is not called more."""
    return round(value, 3) > round(other, 3)


@dataclass(frozen=True)
class Conclusion:
    """One thing that came out."""

    said: str
    """A plain sentence."""
    figures: str
    """The numbers that it was read from, and the test that decided its words."""


NARROW = 10
"""Characters of a column from which on its heading is broken into lines."""
GAP = "  "


def as_text(tables: Mapping[str, Table], conclusions: Sequence[Conclusion], width: int) -> str:
    """What came out, the most important first, then the tables.

    Args:
        tables: by heading.
        conclusions: as on the page, in its order.
        width: characters of a line of sentences; tables are as wide as their columns.
    """
    said = "\n".join(line for each in conclusions for line in _concluded(each, width))
    return "\n\n".join(filter(None, [said, *("\n".join(_lines(name, table)) for name, table in tables.items())]))


def _concluded(conclusion: Conclusion, width: int) -> list[str]:
    figures = textwrap.wrap(conclusion.figures, width, initial_indent=GAP, subsequent_indent=GAP)
    return [*textwrap.wrap(conclusion.said, width), *figures]


def _lines(name: str, table: Table) -> Iterator[str]:
    """The heading, the names of the columns, and the rows of each question below it."""
    rows = [row for _, _, group in table.groups for row in group]
    columns = [_broken(head, [row.cells[place] for row in rows]) for place, head in enumerate(table.header)]
    wide = [max(map(len, [*heads, *cells])) for heads, cells in columns]
    yield name
    deep = max(len(heads) for heads, _ in columns)
    for line in zip(*([""] * (deep - len(heads)) + heads for heads, _ in columns), strict=True):
        yield _line(line, wide)
    yield GAP.join("-" * each for each in wide)
    for experiment, question, group in table.groups:
        yield from [f"{experiment}{GAP}{question}"] if question else []
        yield from (_line(row.cells, wide) for row in group)


def _broken(head: str, cells: list[str]) -> tuple[list[str], list[str]]:
    """A column: its heading in lines, and its cells."""
    return textwrap.wrap(head, max(NARROW, *map(len, cells)), break_long_words=False), cells


def _line(cells: Sequence[str], wide: Sequence[int]) -> str:
    """The first cell to the left, numbers to the right."""
    first, *others = zip(cells, wide, strict=True)
    return GAP.join([first[0].ljust(first[1]), *(cell.rjust(size) for cell, size in others)]).rstrip()


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
