"""The texts with labels in the user's files: columns are chosen, cells are checked, bad rows are refused or left out."""

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from attest.core.errors import AttestError
from attest.core.label_values import UNSEEN, quoted_list, several_of, value_of
from attest.core.labels import columns_named
from attest.datamodules.notice import option, say, shortened, some
from attest.datamodules.rows import ENCODING_ADVICE, UNDECODED, UTF_8, FileRow, Rows, read_rows

TEXTS = ("text", "sentence", "review", "content", "document", "body", "comment", "tweet", "description", "question", "title")
LABELS = (
    "label_text",
    "label_name",
    "label",
    "labels",
    "label_ids",
    "class",
    "category",
    "sentiment",
    "target",
    "topic",
    "stars",
    "rating",
    "score",
)
FIRST = ("premise", "sentence1", "sentence_1", "sentence_a", "text1", "text_1", "text_a", "question1")
SECOND = ("text_pair", "hypothesis", "sentence2", "sentence_2", "sentence_b", "text2", "text_2", "text_b", "question2")
TOKENS = ("tokens", "words")
TAGS = ("tags", "chunk_tags", "ner_tags", "pos_tags", "labels", "label_ids")
"""Usual names of the column with tags in data sets, the most likely first. If the user names no column, the first one that a
file has is read."""


@dataclass(frozen=True)
class FileOptions:
    """The user's options for reading files; Attest guesses the options that are None.

    Args:
        text_column, label_column, tagging, encoding, on_bad_rows: as in ``FilesDataModule``.
        second_column: the column of the second text of a pair; None for single texts, or to guess it if ``pairs`` is True.
        pairs: whether a second text is guessed by the name of its column, if no ``text_column`` is named.
        several: the names of the labels, where a text can have several of them instead of one class; else empty.
        groups: columns with what the user knows of each text, such as its source, which are kept beside the labels.
    """

    text_column: str | None = None
    label_column: str | None = None
    tagging: bool | None = None
    encoding: str = UTF_8
    on_bad_rows: str = "refuse"
    second_column: str | None = None
    pairs: bool = False
    several: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class Instances:
    """The good rows of a source, with the label of each; their texts are read when they are asked for.

    Args:
        rows: the rows of the source.
        columns: the columns of texts and labels.
        known: the labels that may occur; None for all.
    """

    def __init__(self, rows: Rows, columns: "FileColumns", known: Collection[str] | None = None) -> None:
        self._rows, self._columns = rows, columns
        self.labels: list[Any] = []
        """The label of each row that was accepted: the name of its class; for multi-label texts and taggers, a list of labels
        or tags."""
        self.problems: list[tuple[str, str]] = []
        """The rows that were refused: where each stands, such as ``line 12``, and why it was refused."""
        same: dict[str, str] = {}
        numbers = array("q")
        for number, row in enumerate(rows.of(columns.read)):
            try:
                _, label = _instance(row, columns)
                if unknown := [] if known is None else [name for name in label_names(label) if name not in known]:
                    raise ValueError(f"unknown label {shortened(unknown[0])!r}")
            except ValueError as bad:
                self.problems.append((row.place, str(bad)))
                continue
            numbers.append(number)
            self.labels.append(same.setdefault(label, label) if isinstance(label, str) else label)
        self.numbers = np.frombuffer(numbers, dtype=np.int64) if numbers else np.zeros(0, dtype=np.int64)
        """int64 ``(N,)``: for each accepted row, its number in the source, from 0; refused rows are skipped."""

    def __len__(self) -> int:
        return len(self.labels)

    def column(self, name: str, chosen: np.ndarray) -> list[Any]:
        """Return the cells of a column of the source, of the rows at some places among the good ones.

        Args:
            chosen: as in ``texts``.
        Raises:
            AttestError: the source has no such column.
        """
        if name not in self._rows.names:
            raise AttestError(f"the data have no column {name!r}; expected one of: {some(self._rows.names)}.")
        wanted = {*self.numbers[chosen].tolist()}
        return [row.cells.get(name) for number, row in enumerate(self._rows.of([name])) if number in wanted]

    def texts(self, chosen: np.ndarray | None = None) -> list[Any]:
        """Return the texts (strings, pairs or lists of words) of the rows at some places among the good ones, None for all.

        Args:
            chosen: the places, int64 ``(M,)``, the smallest first.
        """
        wanted = iter((self.numbers if chosen is None else self.numbers[chosen]).tolist())
        found, next_one = [], next(wanted, None)
        for number, row in enumerate(self._rows.of(self._columns.read)):
            if number == next_one:
                found.append(_instance(row, self._columns)[0])
                next_one = next(wanted, None)
            if next_one is None:
                break
        return found


def read_instances(
    sources: Mapping[str, str], options: FileOptions, *, classes: bool
) -> tuple[dict[str, Instances], "FileColumns"]:
    """Read the labels of files, and which of their rows are good; refuse bad rows, or leave them out and print how many.

    If ``classes``, the labels of the first file must be classes, and those of all other files must be among these classes.
    """
    rows = {split: read_rows(source, split, options.encoding) for split, source in sources.items()}
    for split, found in rows.items():
        if not len(found):
            raise AttestError(
                f"{sources[split]} has no rows (it is empty or has only a header); expected rows with texts and labels."
            )
        _refuse_bad(sources[split], found.problems, len(found), options, only_if_all=True)
    first, *others = sources
    columns = choose_columns(sources[first], rows[first], options)
    for split, found in rows.items():
        _require_columns(sources[split], found, columns, sources[first])
    say(f"{sources[first]}: {columns.sentence}")
    read = {first: Instances(rows[first], columns)}
    known: set[str] = set()
    if classes:
        _refuse_bad(sources[first], read[first].problems, len(rows[first]), options, only_if_all=True)
        labels = [name for label in read[first].labels for name in label_names(label)]
        _require_classes(sources[first], labels, columns.tagging)
        known = set(labels)
    read |= {split: Instances(rows[split], columns, known if classes else None) for split in others}
    for split, instances in read.items():
        _refuse_bad(sources[split], instances.problems, len(rows[split]), options, in_order(known))
    for split, instances in read.items():
        if instances.problems:
            say(f"Left out: {_complaint(sources[split], instances.problems, len(rows[split]))}")
    return read, columns


# Bad rows: how many, why, where, what was expected, and what may help.


def _refuse_bad(
    source: str,
    bad: Sequence[tuple[str, str]],
    rows: int,
    options: FileOptions,
    known: Sequence[str] = (),
    *,
    only_if_all: bool = False,
) -> None:
    problems = {problem for _, problem in bad}
    useless = len(bad) == rows
    if not problems or (not useless and (only_if_all or options.on_bad_rows == "skip")):
        return
    advice = f"{ENCODING_ADVICE} " if UNDECODED.format(options.encoding.upper()) in problems else ""
    label = f"known label ({some([*map(shortened, known)])})" if known else "known label"
    skip = "" if useless else f", or leave them out with {option('on_bad_rows', 'skip')}"
    raise AttestError(
        f"{_complaint(source, bad, rows)} Expected a text and a {label} in every row. "
        f"{advice.format(option('encoding', 'latin-1'))}Correct the rows{skip}"
    )


def _complaint(source: str, bad: Sequence[tuple[str, str]], rows: int) -> str:
    places: dict[str, list[str]] = defaultdict(list)
    for place, problem in bad:
        places[problem].append(place)
    reasons = [f"{problem} ({some(found)})" for problem, found in places.items()]
    return f"{source} has bad rows ({len(bad)} of {rows}): {some(reasons, '; ')}."


# FileColumns: named by the user, or guessed.


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file that contain texts and labels.

    Args:
        words: whether texts are lists of words, or words with blanks between, so that they are not tokenised.
        guessed: whether the name of a column was guessed.
        others: columns that are not read.
        second: the column of the second text of a pair; None for single texts.
        each: the columns of the labels, where each label has a column of 0 and 1; else empty.
        several: the names of the labels, where a text can have several; else empty.
    """

    text: str
    label: str
    tagging: bool
    words: bool
    guessed: bool
    others: tuple[str, ...] = ()
    second: str | None = None
    each: tuple[str, ...] = ()
    several: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """Return the names of all columns that are read."""
        return [self.text, self.label, *self.each, *([] if self.second is None else [self.second])]

    @property
    def sentence(self) -> str:
        """Return a sentence that names the columns of the file from which texts and labels are read."""
        texts = "texts" if self.second is None else "pairs of texts"
        what = "tokens and tags" if self.tagging else f"{texts} and labels"
        unread = f" Not read: {_listed(self.others)}." if self.others else ""
        how = f" (guessed; {_name_them()})" if self.guessed else ""
        read = self.text if self.second is None else f"{self.text}, {self.second}"
        return f"{what} from the columns {read} and {', '.join(self.each) or self.label}{how}.{unread}"


def choose_columns(source: str, rows: Rows, options: FileOptions) -> FileColumns:
    """Choose the columns of texts and labels in a file; guess those that the user does not name."""
    text, label, second = options.text_column, options.label_column, options.second_column
    names = rows.names
    for given in (text, label, second):
        if given is not None and given not in names:
            raise AttestError(f"There is no column {given!r}; expected one of: {_listed(names)}. To choose, {_name_them()}.")
    tagging = _looks_tagged(names, rows, label) if options.tagging is None else options.tagging
    if options.pairs and text is None and not tagging:
        second = second or first_of(SECOND, names, other_than=label)
    names = [name for name in names if name != second]
    guessed = text is None or label is None
    each = columns_named(options.several, names) if options.several and label is None else []
    label = each[0] if each else label
    usual = TAGS if tagging else LABELS
    label = label or first_of(usual, names, other_than=text)
    text = text or first_of((*TOKENS, *TEXTS) if tagging else (*FIRST, *TEXTS, *TOKENS), names, other_than=label)
    if not (text and label):
        _require_header(source, names, rows)
        if len(names) == 2:  # the longer cells are the texts
            length = dict.fromkeys(names, 0)
            for row in rows:
                length = {name: count + len(str(row.cells.get(name))) for name, count in length.items()}
            text = text or max((name for name in names if name != label), key=length.__getitem__)
            label = label or next(name for name in names if name != text)
    if not text or not label:
        raise AttestError(
            f"{source} has the columns {_listed(names)}, and their names do not tell which column contains texts and which "
            "contains labels; "
            f"{_name_them()}.{_without_header(source)}"
        )
    if text == label:
        raise AttestError(
            f"Texts and labels would both be read from the column {text!r}; expected two different columns. To choose, "
            f"{_name_them()}."
        )
    if options.tagging is None and tagging:
        _require_tags(source, rows, text, label)
    words = tagging or isinstance(_first_cell(rows, text), list)
    others = tuple(name for name in names if name not in (text, label, *each))
    return FileColumns(text, label, tagging, words, guessed, others, second, tuple(each), options.several)


def _require_columns(source: str, rows: Rows, columns: FileColumns, training: str) -> None:
    for column in columns.read:
        if rows.names and column not in rows.names:
            raise AttestError(
                f"{source} has no column {column!r} (its columns: {_listed(rows.names)}); expected the columns "
                f"{columns.text!r} and {columns.label!r}, as in {training}. Rename the columns.{_without_header(source)}"
            )


def _name_them() -> str:
    return f"name the columns with {option('text_column', '<column>')} {option('label_column', '<column>')}"


def _require_header(source: str, names: Sequence[str], rows: Rows) -> None:
    if _has_header(source):
        named = [name for name in names if name]
        again = (any(str(row.cells.get(name)).strip() == name for name in named) for row in rows)
        if any(_number(name) is not None for name in named) or any(again):
            raise AttestError(
                f"{source} seems to have no header: its first line ({_listed(names)}) looks like the lines below it; expected "
                "the names of the columns in the first line. Write a header such as text,label above this line, or, if it is "
                f"the header, {_name_them()}."
            )


def _require_tags(source: str, rows: Rows, text: str, label: str) -> None:
    def count(cell: object) -> int:
        return len(cell.split() if isinstance(cell, str) else cell) if isinstance(cell, str | list) else 0

    pairs = [(row.place, count(row.cells.get(text)), count(row.cells.get(label))) for row in rows if row.problem is None]
    other = [(place, words, tags) for place, words, tags in pairs if words != tags]
    if 2 * len(other) > len(pairs):
        place, words, tags = other[0]
        raise AttestError(
            f"{source}: the column {label!r} contains lists, and {len(other)} of {len(pairs)} lists are not as long as their "
            f"texts ({place} has {words} words, but a list of length {tags}); expected one label for each text, or one tag "
            "for each word. For several labels, make a column for each label, and name one of these columns."
        )


def _looks_tagged(names: list[str], rows: Rows, label: str | None) -> bool:
    label = label or first_of(LABELS, names) or first_of(TAGS, names)
    if label is None:
        return False
    return isinstance(_first_cell(rows, label), list) or (label.lower() in TAGS and first_of(TOKENS, names) is not None)


def _first_cell(rows: Rows, column: str) -> object:
    return next((row.cells[column] for row in rows.of([column]) if row.cells.get(column) is not None), None)


def first_of(known: Sequence[str], names: list[str], other_than: str | None = None) -> str | None:
    """Return the column of ``names`` that comes first in ``known``, ignoring case; None if ``known`` has none of them."""
    there = [name for name in names if name != other_than]
    by_name = {name.lower(): name for name in there} | {name: name for name in there}
    return next((by_name[name] for name in known if name in by_name), None)


def _listed(names: Sequence[str]) -> str:
    return some([shortened(name) or "(no name)" for name in names], few=12) or "none"


def _without_header(source: str) -> str:
    return " If the first line is not a header, write a header above it: text,label" if _has_header(source) else ""


def _has_header(source: str) -> bool:
    return source.lower().endswith((".csv", ".tsv"))


# Cells: one text with its label or tags, or what is wrong with its row.

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Matches one half of a UTF-16 surrogate pair. JSON can contain one, but it is no character, so a text with one is refused."""


def _instance(row: FileRow, columns: FileColumns) -> tuple[Any, Any]:
    """Return the text and the label of a row; raise a ``ValueError`` with a description of the problem if it has one."""
    if row.problem is not None:
        raise ValueError(row.problem)
    text, label = row.cells.get(columns.text), row.cells.get(columns.label)
    label = [row.cells.get(name) for name in columns.each] if columns.each else label
    text = _words(text) if columns.words else _string(text, "text")
    if columns.second is not None:
        text = (text, _string(row.cells.get(columns.second), "second text"))
    if columns.tagging:
        return text, _tags(label, len(text))
    return text, _several(label, columns) if columns.several else _label(label)


def label_names(label: Any) -> list[str]:
    """Return the labels or the tags of a text as a list."""
    return label if isinstance(label, list) else [label]


def _string(cell: Any, what: str) -> str:
    if isinstance(cell, list | dict):
        raise ValueError(f"{'a list' if isinstance(cell, list) else 'an object'} instead of a {what}")
    try:
        text = cell.decode() if isinstance(cell, bytes) else str(cell)
    except UnicodeDecodeError:
        raise ValueError("bytes that are not UTF-8") from None
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or not text.strip(UNSEEN):
        raise ValueError(f"missing {what}")
    return _encodable(text)


def _encodable(text: str) -> str:
    if HALF_CHARACTER.search(text):
        raise ValueError("half a character")
    if "\0" in text:
        raise ValueError("a null character")
    return text


def _words(cell: Any) -> list[str]:
    words = _of_list(cell)
    if not isinstance(words, list) or not words:
        raise ValueError("missing text")
    if not all(isinstance(word, str) and word for word in words):
        raise ValueError("a word that is empty or not text")
    return [_encodable(word) for word in words]


def _of_list(cell: Any) -> Any:
    """Return a list that was written as text, with quotation marks or with blanks between, as the list."""
    return quoted_list(cell) or cell.split() if isinstance(cell, str) else cell


def _label(cell: Any) -> str:
    return _string(value_of(cell), "label")


def _several(cell: Any, columns: FileColumns) -> Any:
    """Return a cell with several labels as it is, for ``label_sets``, if each label in it is one."""
    labels = several_of(cell, columns.several)
    if None in labels:
        raise ValueError("missing label")
    for label in labels:
        _label(label)
    return cell if isinstance(cell, list) else _string(cell, "label") if labels else []


def _tags(cell: Any, words: int) -> list[str]:
    tags = _of_list(cell)
    if not isinstance(tags, list):
        raise ValueError("missing label")
    if len(tags) != words:
        raise ValueError(f"the number of words is {words}, but the number of tags is {len(tags)}")
    return [_label(tag) for tag in tags]


# Classes: labels that look like something else are refused.

FEW = 20
"""A column with at most this many different labels is accepted as a column of classes, whatever its labels look like."""


def in_order(names: set[str]) -> tuple[str, ...]:
    """Sort the names of classes: by number if all are numbers, else alphabetically with the tag ``O`` first."""
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    if len(numbers) < len(names):
        return tuple(sorted(names, key=lambda name: (name != "O", name)))
    return tuple(sorted(names, key=lambda name: (numbers[name], name)))


def _number(name: str) -> Decimal | None:
    with suppress(InvalidOperation):  # a word, not a number
        number = Decimal(name)
        return None if number.is_nan() else number
    return None


def _require_classes(source: str, labels: Sequence[str], tagging: bool) -> None:
    names = sorted(set(labels))
    shown = f"({', '.join(names[:3])}, …)"
    other_column = f"name another column with {option('label_column', '<column>')}"
    if len(names) < 2:
        found = f"only one class ({names[0]!r})" if names else "no labelled text"
        raise AttestError(
            f"{source} has {found}; expected at least two classes. Give a file with texts of another class, or {other_column}"
        )
    numbers = [number for name in names if (number := _number(name)) is not None]
    if len(names) > FEW and not tagging and any(number != number.to_integral_value() for number in numbers):
        raise AttestError(
            f"{source} has {len(names)} different labels {shown}, which look like numbers of a regression; expected classes. "
            f"Turn the numbers into a few classes first, such as low and high, or {other_column}"
        )
    if len(names) > max(FEW, len(labels) / 2) and not tagging:
        raise AttestError(
            f"{source} has {len(names)} different labels for {len(labels)} texts {shown}; expected classes that several texts "
            f"share. Sort the texts into classes first, or {other_column}"
        )
