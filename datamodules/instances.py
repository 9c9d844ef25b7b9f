"""One text of the user's own data with its label or tags, or what is wrong with its row."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

from attest.datamodules.columns import Columns
from attest.datamodules.notice import shortened
from attest.datamodules.rows import Row

UNSEEN = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "".join(
    sign for sign in map(chr, range(0x10000)) if unicodedata.category(sign) == "Cf"
)
"""Blanks, and signs that take no room: zero-width spaces, byte order marks, marks of direction."""
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
        return self if unknown is None else replace(self, problem=f"unknown label {shortened(unknown)!r}")


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
    _require_single(cell, "text")
    if _missing(cell) or not _decoded(cell).strip(UNSEEN):
        raise BadCellError("missing text")
    return _encodable(_decoded(cell))


def _words(cell: Any) -> list[str]:
    words = cell.split() if isinstance(cell, str) else cell
    if not isinstance(words, list) or not words:
        raise BadCellError("missing text")
    if not all(isinstance(word, str) and word for word in words):
        raise BadCellError("a word that is none")
    return [_encodable(word) for word in words]


def _label(cell: Any) -> str:
    _require_single(cell, "label")
    if _missing(cell) or not (name := _decoded(cell).strip(UNSEEN)):
        raise BadCellError("missing label")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))  # what pandas makes of whole numbers in a column with gaps
    return unicodedata.normalize("NFC", _encodable(name))


def _tags(cell: Any, words: int) -> list[str]:
    tags = cell.split() if isinstance(cell, str) else cell
    if not isinstance(tags, list):
        raise BadCellError("missing label")
    if len(tags) != words:
        raise BadCellError(f"{len(tags)} tags for {words} words")
    return [_label(tag) for tag in tags]


def _require_single(cell: Any, what: str) -> None:
    if isinstance(cell, list | dict):
        raise BadCellError(f"{'a list' if isinstance(cell, list) else 'an object'} where a {what} belongs")


def _decoded(cell: Any) -> str:
    """A number or truth value as it is written; parquet may hold text as bytes."""
    try:
        return cell.decode() if isinstance(cell, bytes) else str(cell)
    except UnicodeDecodeError:
        raise BadCellError("bytes that are not UTF-8") from None


def _encodable(text: str) -> str:
    if HALF_CHARACTER.search(text):
        raise BadCellError("half a character")
    if "\0" in text:
        raise BadCellError("a null character")
    return text


def _missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
