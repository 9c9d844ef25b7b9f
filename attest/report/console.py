"""What a page of several runs says and its tables, as text for a terminal."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from attest.report.conclusion import Conclusion
from attest.report.related_table import Table

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
