"""Write pages that compare several related runs, with conclusions, tables and figures, for a browser and for a terminal."""

import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd

from attest.core.measures.numbers import interval, rounded
from attest.experiments.registry import EXPERIMENTS
from attest.report.collection import within
from attest.report.controls import baseline, scored
from attest.report.figures import Illustration, embedded
from attest.report.run_tables import PAGE
from attest.report.summary import QUESTIONS
from attest.report.summary import SCORES as TEST_SCORES
from attest.report.templating import render
from attest.runs.contents import RunContents
from attest.runs.folder import write_text
from attest.runs.kinds import kind_in

SCORES = ("f1", "chunk_f1", "token_f1", "accuracy")
DISTANCES = ("jsd", "jsd_matched", "kl", "kl_mean", "tau", "tvd", "nll", "same")
"""The columns of experiment E7 that say how far an adversary is from its base run, in its attention and in its predictions."""
ENDS = ("ci_low", "ci_high")
"""The ends of the names of two columns with a confidence interval: ``jsd/ci_low`` and ``jsd/ci_high`` belong to the column
``jsd``."""
COUNTS = ("texts", "sentences")
"""The two possible names of the column with the number of instances that the numbers of a row are means over: texts, or
sentences for a tagger."""


def _heading(distance: str) -> str:
    """Return the title and the unit of a distance to the base run, as experiment E7 defines it."""
    spec = EXPERIMENTS["E7"]
    title = next(measure.title for measure in spec.measures if measure.name == distance)
    column = spec.column(distance)
    unit = f", {column.unit.replace('0 or 1', 'share')}" if column is not None and column.unit else ""
    return f"{title if title[0] == 'τ' else title[0].upper() + title[1:]}{unit}"  # a large τ would look like a T


HEADINGS = {
    **{key.removeprefix("test/"): score.title for key, score in TEST_SCORES.items()},
    **{"chunk_f1": "F1 of chunks", "token_f1": "F1 of tokens", "lambda": "λ", "knee": "Knee of the curve"},
    **{
        "name": "Run",
        "texts": "Texts",
        "sentences": "Sentences",
        "reading": "Reading",
        "share erased": "Share of tokens erased",
    },
    **{"area": "Area to random erasure", "RACU": "RACU, share of the largest area"},
    **{distance: _heading(distance) for distance in DISTANCES},
}
EXPERIMENT, REPORT = "experiment", "report"
"""Two columns that are read but not shown: the experiment that a row belongs to, and the file that the first cell of the row
links to."""
LONG = 12
"""A table with more rows than this scrolls inside the page, and does not make the page longer."""


@dataclass(frozen=True)
class Conclusion:
    """A conclusion from the numbers of several runs."""

    said: str
    figures: str


SPELLED = {
    "JSD": "Jensen–Shannon divergence (JSD)",
    "TVD": "total variation distance (TVD)",
    "KL": "Kullback–Leibler divergence (KL)",
    "NLL": "negative log-likelihood (NLL)",
    **{spec.id: f"{spec.id} ({spec.name})" for spec in EXPERIMENTS.values()},
}
SHORT = re.compile(rf"\b({'|'.join(SPELLED)})\b")


def spelled_out(conclusions: Sequence[Conclusion]) -> list[Conclusion]:
    """Spell each abbreviation, such as JSD or E2, out where the conclusions first say it."""
    said: set[str] = set()

    def whole(found: re.Match[str]) -> str:
        if found[0] in said:
            return found[0]
        said.add(found[0])
        begins = found.start() == 0 or found.string[: found.start()].endswith(". ")
        words = SPELLED[found[0]]
        return words[0].upper() + words[1:] if begins else words

    return [Conclusion(SHORT.sub(whole, each.said), SHORT.sub(whole, each.figures)) for each in conclusions]


@dataclass(frozen=True)
class LinkedTable:
    """A table with a header and groups of rows.

    A group has an experiment and its question, which may be empty, and rows. A row has cells, and a link of its first cell.
    """

    header: list[str]
    groups: list[tuple[str, str, list[tuple[list[str], str | None]]]]


@dataclass(frozen=True)
class Page:
    """A page with conclusions, tables and figures."""

    title: str
    tables: Mapping[str, pd.DataFrame]
    figures: Sequence[Illustration] = ()
    conclusions: Sequence[Conclusion] = ()
    about: str = ""
    """A sentence below the title of the page; empty for none."""

    @property
    def unit(self) -> str:
        """Return what the numbers are means over: ``texts``, or ``sentences`` of taggers."""
        return "sentences" if any("sentences" in rows for rows in self.tables.values()) else "texts"

    def write(self, path: Path) -> str:
        """Write the page into a file, and return its conclusions and tables as text for a terminal."""
        tables = {name: related_table(rows, path) for name, rows in self.tables.items() if len(rows)}
        write_text(path, render("related.html", page=self, tables=tables, figures=embedded(self.figures), long=LONG))
        return as_text(tables, self.conclusions, shutil.get_terminal_size((PAGE, 1)).columns)


def related_table(rows: pd.DataFrame, page: Path) -> LinkedTable:
    """Return a table for the page with one row of numbers for each run, without empty columns.

    The columns ``experiment`` and ``report``, if present, give the group of a row and the link of its first cell. A number and
    its interval stand in one cell, and the number of texts comes last.
    """
    rows = _with_intervals(rows)
    shown = rows.drop(columns=[EXPERIMENT, REPORT], errors="ignore")
    shown = shown[[name for name in shown if not all(pd.isna(value) or value is False for value in shown[name])]]
    experiments = rows[EXPERIMENT] if EXPERIMENT in rows else [""] * len(rows)
    reports = rows[REPORT] if REPORT in rows else [None] * len(rows)
    cells = ([_cell(str(name), row[place]) for place, name in enumerate(shown)] for row in shown.itertuples(index=False))
    linked = [(each, link_between(page, report)) for each, report in zip(cells, reports, strict=True)]
    groups = groupby(zip(experiments, linked, strict=True), key=lambda pair: pair[0])
    named = [(name, QUESTIONS.get(name, ""), [row for _, row in pairs]) for name, pairs in groups]
    return LinkedTable([HEADINGS.get(str(name), str(name)) for name in shown], named)


def _with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    ends = {f"{name}/{end}" for name in rows for end in ENDS} & {*rows}
    shown = rows[[*(name for name in rows if name not in ends | {*COUNTS}), *(name for name in COUNTS if name in rows)]].copy()
    for name in shown:
        if {f"{name}/{end}" for end in ENDS} <= ends:
            parts = rows[[name, *(f"{name}/{end}" for end in ENDS)]].to_numpy(float)
            shown[name] = [
                value if np.isnan(low) else interval(value, *within(f"E7/{name}", low, high)) for value, low, high in parts
            ]
    return shown


def link_between(page: Path, report: Path | None) -> str | None:
    """Return the link from a page to a report; None if the report does not exist."""
    if report is None or not report.is_file():
        return None
    return os.path.relpath(report, page.parent).replace(os.sep, "/")


def _cell(name: str, value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else ""
    if name in COUNTS:
        return f"{value:,.0f}"
    if not isinstance(value, float):
        return str(value)
    return plain(value) if name == "lambda" else rounded(value)


def plain(value: float) -> str:
    """Return a number such as λ as text without an exponent, for example ``0.00001``."""
    return np.format_float_positional(value, trim="-")


def exceeds(value: float, other: float) -> bool:
    """Return whether the first number is larger than the second when both are rounded as on the page."""
    return round(value, 3) > round(other, 3)


NARROW = 10
"""The width in characters at which a heading is broken into lines, if no cell of its column is wider."""
GAP = "  "


def as_text(tables: Mapping[str, LinkedTable], conclusions: Sequence[Conclusion], width: int) -> str:
    """Return the conclusions and then the tables as one text for a terminal."""
    lines: list[str] = []
    for each in conclusions:
        lines += textwrap.wrap(each.said, width)
        lines += textwrap.wrap(each.figures, width, initial_indent=GAP, subsequent_indent=GAP)
    return "\n\n".join(filter(None, ["\n".join(lines), *("\n".join(_lines(*table)) for table in tables.items())]))


def _lines(name: str, table: LinkedTable) -> Iterator[str]:
    cells = [row for _, _, rows in table.groups for row, _ in rows]
    longest = [max(map(len, column)) for column in zip(*cells, strict=True)]
    heads = [
        textwrap.wrap(head, max(NARROW, size), break_long_words=False)
        for head, size in zip(table.header, longest, strict=True)
    ]
    widths = [max(size, *map(len, head)) for size, head in zip(longest, heads, strict=True)]
    deep = max(map(len, heads))

    def line(cells: Sequence[str]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return GAP.join([cells[0].ljust(widths[0]), *numbers]).rstrip()

    yield name
    yield from map(line, zip(*([""] * (deep - len(head)) + head for head in heads), strict=True))
    yield GAP.join("-" * width for width in widths)
    for experiment, question, rows in table.groups:
        if question:
            yield f"{experiment}{GAP}{question}"
        yield from (line(row) for row, _ in rows)


def scores_of(run: RunContents) -> dict[str, float]:
    """Return those test scores of a run that the page shows, their intervals, and the number of its texts."""
    summary, held = run.summary, baseline(run)
    scores = {name: summary[f"test/{name}"] for name in SCORES if f"test/{name}" in summary}
    if (found := scored(run, held)) is None:
        return scores
    for name in [*scores]:
        scores |= {f"{name}/{end}": bound for end, bound in zip(ENDS, found.bounds.get(f"test/{name}", ()), strict=False)}
    return scores | {kind_in(run).units: found.texts}


def distances_of(run: RunContents) -> dict[str, float]:
    """Return the distances between a run and its base run: the means of the columns of E7, and their intervals."""
    return means_with_intervals(run.summary, "E7/", DISTANCES)


def means_with_intervals(summary: Mapping[str, float], prefix: str, columns: Iterable[str]) -> dict[str, float]:
    """Return the means of columns by name, and their intervals as ``jsd/ci_low`` and ``jsd/ci_high``, where they are known."""
    keys = {name: f"{prefix}{name}/mean" for name in columns}
    keys |= {f"{name}/{end}": f"{prefix}{name}/{end}" for name in columns for end in ENDS}
    return {name: summary[key] for name, key in keys.items() if summary.get(key) is not None}
