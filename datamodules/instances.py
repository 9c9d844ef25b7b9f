"""One text of the user's own data with its label or tags, or what is wrong with its row."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from attest.datamodules.columns import Columns
from attest.datamodules.rows import Row

PLACES_SHOWN = 5
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""One of a pair of surrogates, which JSON can spell and no text holds."""


@dataclass(frozen=True)
class Instance:
    """A text, or its words, and the name of its class, or of each word's tag; neither where there is a problem."""

    place: str
    text: str | list[str] | None = None
    label: str | list[str] | None = None
    problem: str | None = None

    @property
    def names(self) -> list[str]:
        """The classes or tags that it bears."""
        if self.label is None:
            return []
        return self.label if isinstance(self.label, list) else [self.label]

    def unless_unknown(self, known: set[str]) -> "Instance":
        """Itself, or with a problem where a class or tag is not among those that training knows."""
        unknown = next((name for name in self.names if name not in known), None)
        return self if unknown is None else replace(self, problem=f"unknown label {unknown!r}")


def instance(row: Row, columns: Columns) -> Instance:
    """The text and label in a row."""
    if row.problem is not None:
        return Instance(row.place, problem=row.problem)
    try:
        text = _words(row.cells.get(columns.text)) if columns.words else _text(row.cells.get(columns.text))
        label = _tags(row.cells.get(columns.label), len(text)) if columns.tagging else _label(row.cells.get(columns.label))
    except BadCellError as bad:
        return Instance(row.place, problem=str(bad))
    return Instance(row.place, text, label)


class BadCellError(ValueError):
    """A cell that is not what its column calls for; the message says why, in a few words."""


def _text(cell: Any) -> str:
    if isinstance(cell, list | dict):
        raise BadCellError("a list where a text belongs")
    if _missing(cell) or not str(cell).strip():
        raise BadCellError("missing text")
    return _encodable(str(cell))


def _words(cell: Any) -> list[str]:
    words = cell.split() if isinstance(cell, str) else cell
    if not isinstance(words, list) or not words:
        raise BadCellError("missing text")
    if not all(isinstance(word, str) and word for word in words):
        raise BadCellError("a word that is none")
    return [_encodable(word) for word in words]


def _label(cell: Any) -> str:
    if isinstance(cell, list | dict):
        raise BadCellError("a list where a label belongs")
    if _missing(cell) or not str(cell).strip():
        raise BadCellError("missing label")
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)  # what pandas makes of whole numbers in a column with gaps
    return _encodable(str(cell).strip())


def _tags(cell: Any, words: int) -> list[str]:
    tags = cell.split() if isinstance(cell, str) else cell
    if not isinstance(tags, list):
        raise BadCellError("missing label")
    if len(tags) != words:
        raise BadCellError(f"{len(tags)} tags for {words} words")
    return [_label(tag) for tag in tags]


def _encodable(text: str) -> str:
    if HALF_CHARACTER.search(text):
        raise BadCellError("half a character")
    return text


def _missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def complaint(source: str, rows: Sequence[Instance]) -> str:
    """How many rows of a file are bad, why and where, in a sentence."""
    places: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.problem is not None:
            places[row.problem].append(row.place)
    bad = sum(map(len, places.values()))
    reasons = "; ".join(f"{problem} ({_some(found)})" for problem, found in places.items())
    return f"{source} has {bad} bad {'row' if bad == 1 else 'rows'} of {len(rows)}: {reasons}."


def _some(places: list[str]) -> str:
    more = len(places) - PLACES_SHOWN
    return ", ".join(places[:PLACES_SHOWN]) + (f" and {more} more" if more > 0 else "")
