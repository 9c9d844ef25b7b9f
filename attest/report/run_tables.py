"""Write tables about many runs as LaTeX, Markdown or CSV, with one row for each setting or, if shorter, for each measure."""

import re
from collections.abc import Callable, Sequence

import pandas as pd

from attest.core.measures import OverSeeds
from attest.core.measures.numbers import spread
from attest.report.collection import Setting, notes
from attest.report.summary import label_of

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"}
    | {"τ": r"$\tau$", "ε": r"$\varepsilon$", "Δ": r"$\Delta$", "φ": r"$\varphi$", "α": r"$\alpha$", "×": r"$\times$"}
    | {"ŷ": r"$\hat{y}$", "\N{COMBINING TILDE}": ""}
)

NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?( ± \d+(\.\d+)?)?")
"""Matches a number as papers write it, such as ``-0.35 ± 0.21``. A spreadsheet does not take it for a formula, although it may
begin with a sign."""
FORMULA = ("=", "+", "-", "@")
"""The characters with which a formula begins in a spreadsheet. A cell that begins with one of them, and is no number, gets an
apostrophe before it, so that it is never executed."""
COLUMNS = ("setting", "measure", "mean", "std", "seeds")


PAGE = 144
"""The default limit for the width of a table, in characters; if rows for settings would be wider, the table gets rows for
measures."""
WHO, WHAT = ("Setting", "Seeds"), ("Measure",)
"""The headings of the first columns of a table whose rows are settings, and of a table whose rows are measures."""
Columns = list[list[str]]
"""Columns of a table: each has its heading and then one cell for each row."""


def as_markdown(settings: Sequence[Setting], keys: Sequence[str], width: int = PAGE) -> str:
    """Return the numbers of settings as Markdown tables, followed by notes on their comparison.

    Rows are settings. If this is shorter, rows are measures, and a list below the tables names the settings.

    Args:
        width: the largest number of characters in a line; columns that do not fit go into another table below.
    """
    tables, legend = _tables(settings, keys, width)
    parts = [markdown_table(list(zip(*table, strict=True)), padded=True) for table in tables]
    return "\n\n".join([*parts, *(["\n".join(legend)] if legend else []), *notes(settings, keys)]) + "\n"


def markdown_table(rows: Sequence[Sequence[str]], padded: bool = False) -> str:
    """Return a table in GitHub's Markdown; vertical bars in cells are escaped."""
    head, *body = ([_escaped(cell) for cell in row] for row in rows)
    wide = [max(map(len, column)) if padded else 0 for column in zip(head, *body, strict=True)]
    lines = [head, ["-" * max(3, width) for width in wide], *body]
    padded_lines = ([cell.ljust(width) for cell, width in zip(line, wide, strict=True)] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in padded_lines)


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|")


def as_latex(settings: Sequence[Setting], keys: Sequence[str], width: int = PAGE) -> str:
    """Return LaTeX tables (booktabs) with one row for each setting, followed by notes in comments."""
    tables, legend = _tables(settings, keys, width)
    told = [f"% {line.translate(LATEX)}" for line in (*legend, *notes(settings, keys))]
    return "\n".join([*map(_latex, tables), *told, ""])


def _tables(settings: Sequence[Setting], keys: Sequence[str], width: int) -> tuple[list[Columns], list[str]]:
    """Return the result tables in the shorter of two layouts, with a legend if this layout numbers the settings."""
    names = [one_line(each.name) for each in settings]
    seeds = [", ".join(map(str, sorted(each.runs))) for each in settings]
    measures = [one_line(label_of(key)) for key in keys]
    cells = [[cell(each.over_seeds(key)) for each in settings] for key in keys]
    by_setting = [[WHO[0], *names], [WHO[1], *seeds], *([name, *row] for name, row in zip(measures, cells, strict=True))]
    numbered = ([str(place), *column] for place, column in enumerate(zip(*cells, strict=True), start=1))
    tables, others = _parts(by_setting, len(WHO), width), _parts([[WHAT[0], *measures], *numbered], len(WHAT), width)
    legend = [
        f"{place}. {name}, seed{'s' * (',' in seed)} {seed}"
        for place, (name, seed) in enumerate(zip(names, seeds, strict=True), start=1)
    ]
    return (tables, []) if _lines(tables) <= _lines(others) + len(legend) else (others, legend)


def _lines(tables: Sequence[Columns]) -> int:
    return sum(len(table[0]) for table in tables)


def _parts(columns: Columns, first: int, width: int) -> list[Columns]:
    """Split the columns into tables no wider than ``width``; each table repeats the first ``first`` columns."""
    who, parts = columns[:first], [columns[:first]]
    for column in columns[first:]:
        if len(parts[-1]) > first and _wide([*parts[-1], column]) > width:
            parts.append(list(who))
        parts[-1] = [*parts[-1], column]
    return parts


def _wide(columns: Columns) -> int:
    return sum(max(len(_escaped(cell)) for cell in column) + len(" | ") for column in columns) + len("|")


def _latex(columns: Columns) -> str:
    head, *rows = ([text.replace("–", "--").translate(LATEX) for text in row] for row in zip(*columns, strict=True))
    who = len(WHO if columns[0][0] == WHO[0] else WHAT)
    kinds = "l" * who + "r" * (len(columns) - who)
    return pd.DataFrame(rows, columns=head).to_latex(index=False, column_format=kinds).rstrip("\n")


def as_csv(settings: Sequence[Setting], keys: Sequence[str], width: int = 0) -> str:
    """Return CSV with one unrounded line for each setting and number: ``setting,measure,mean,std,seeds``."""
    rows = [
        (as_text(each.name), as_text(key), over.mean, over.std, over.seeds)
        for each in settings
        for key in keys
        if (over := each.over_seeds(key)) is not None
    ]
    return pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False)


def one_line(text: str) -> str:
    """Return a text in which spaces replace all characters that could end the line or move the cursor."""
    return "".join(character if character.isprintable() else " " for character in text)


def as_text(cell: str) -> str:
    """Return a text as a CSV cell; an apostrophe before it stops a spreadsheet from computing a formula."""
    line = one_line(cell)
    return f"'{line}" if line.lstrip().startswith(FORMULA) and not NUMBER.fullmatch(line) else line


FORMATS: dict[str, Callable[[Sequence[Setting], Sequence[str], int], str]] = {
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
}

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv"}
BEGINNINGS = {
    "markdown": re.compile(rf"\|  \| |\| {WHO[0]} *\| {WHO[1]}|\| {WHAT[0]} *\| 1 "),
    "latex": re.compile(r"\\begin\{tabular\}\{ll?r"),
    "csv": re.compile(",".join(COLUMNS)),
}
"""Patterns that match the beginning of a table that Attest wrote, now or in an earlier version, by format. Only files that
match are overwritten."""


def cell(over: OverSeeds | None) -> str:
    """Return ``mean ± std`` over seeds as text; a dash if there is no number."""
    return "–" if over is None else spread(over.mean, over.std)
