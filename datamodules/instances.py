"""The texts with labels in the user's files: columns are chosen, cells are checked, bad rows are refused or left out."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from attest.core.errors import AttestError
from attest.core.label_values import UNSEEN, quoted_list, several_of, value_of
from attest.core.labels import columns_named
from attest.datamodules.notice import option, say, shortened, some
from attest.datamodules.rows import ENCODING_ADVICE, UNDECODED, UTF_8, FileRow, read_rows

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
"""Usual names of columns, the likeliest first."""


@dataclass(frozen=True)
class FileOptions:
    """The user's options for reading files; Attest guesses the options that are None.

    Args:
        text_column, label_column, tagging, encoding, on_bad_rows: as in ``FilesDataModule``.
        second_column: the column of the second text of a pair; None for single texts, or to guess it if ``pairs`` is True.
        pairs: whether a second text is guessed by the name of its column, if no ``text_column`` is named.
        several: the names of the labels, where a text can have several of them instead of one class; else empty.
    """

    text_column: str | None = None
    label_column: str | None = None
    tagging: bool | None = None
    encoding: str = UTF_8
    on_bad_rows: str = "refuse"
    second_column: str | None = None
    pairs: bool = False
    several: tuple[str, ...] = ()


def read_instances(
    sources: Mapping[str, str], options: FileOptions, *, classes: bool
) -> tuple[dict[str, list[FileRow]], "FileColumns"]:
    """Read the texts and labels of files; refuse bad rows, or leave them out and print how many.

    If ``classes``, the labels of the first file must be classes, and those of all other files must be among these classes.
    """
    rows = {split: read_rows(source, split, options.encoding) for split, source in sources.items()}
    for split, found in rows.items():
        if not found:
            raise AttestError(
                f"{sources[split]} has no rows (it is empty or has only a header); expected rows with texts and labels."
            )
        _refuse_bad(sources[split], found, options, only_if_all=True)
    first, *_ = sources
    columns = choose_columns(sources[first], rows[first], options)
    for split, found in rows.items():
        _require_columns(sources[split], found, columns, sources[first])
    say(f"{sources[first]}: {columns.sentence}")
    read = {split: [_instance(number, row, columns) for number, row in enumerate(found)] for split, found in rows.items()}
    known: set[str] = set()
    if classes:
        for split, instances in read.items():
            _refuse_bad(sources[split], instances, options, only_if_all=True)
        labels = [name for instance in read[first] for name in instance.names]
        _require_classes(sources[first], labels, columns.tagging)
        known = set(labels)
        read = {split: [_known(instance, known) for instance in instances] for split, instances in read.items()}
    for split, instances in read.items():
        _refuse_bad(sources[split], instances, options, in_order(known))
    for split, instances in read.items():
        if any(each.problem for each in instances):
            say(f"Left out: {_complaint(sources[split], instances)}")
        read[split] = [each for each in instances if each.problem is None]
    return read, columns


# Bad rows: how many, why, where, what was expected, and what may help.


def _refuse_bad(
    source: str,
    rows: Sequence[FileRow],
    options: FileOptions,
    known: Sequence[str] = (),
    *,
    only_if_all: bool = False,
) -> None:
    problems = {row.problem for row in rows if row.problem is not None}
    useless = all(row.problem is not None for row in rows)
    if not problems or (not useless and (only_if_all or options.on_bad_rows == "skip")):
        return
    advice = f"{ENCODING_ADVICE} " if UNDECODED.format(options.encoding.upper()) in problems else ""
    label = f"known label ({some([*map(shortened, known)])})" if known else "known label"
    skip = "" if useless else f", or leave them out with {option('on_bad_rows', 'skip')}"
    raise AttestError(
        f"{_complaint(source, rows)} Expected a text and a {label} in every row. "
        f"{advice.format(option('encoding', 'latin-1'))}Correct the rows{skip}"
    )


def _complaint(source: str, rows: Sequence[FileRow]) -> str:
    places: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.problem is not None:
            places[row.problem].append(row.place)
    bad = sum(map(len, places.values()))
    reasons = [f"{problem} ({some(found)})" for problem, found in places.items()]
    return f"{source} has bad rows ({bad} of {len(rows)}): {some(reasons, '; ')}."


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
    def sentence(self) -> str:
        """Return a sentence that names the columns of the file from which texts and labels are read."""
        texts = "texts" if self.second is None else "pairs of texts"
        what = "tokens and tags" if self.tagging else f"{texts} and labels"
        unread = f" Not read: {_listed(self.others)}." if self.others else ""
        how = f" (guessed; {_name_them()})" if self.guessed else ""
        read = self.text if self.second is None else f"{self.text}, {self.second}"
        return f"{what} from the columns {read} and {', '.join(self.each) or self.label}{how}.{unread}"


def choose_columns(source: str, rows: Sequence[FileRow], options: FileOptions) -> FileColumns:
    """Choose the columns of texts and labels in a file; guess those that the user does not name."""
    text, label, second = options.text_column, options.label_column, options.second_column
    names = list(dict.fromkeys(name for row in rows if row.problem is None for name in row.cells))
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
            length = {name: sum(len(str(row.cells.get(name))) for row in rows) for name in names}
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


def _require_columns(source: str, rows: Sequence[FileRow], columns: FileColumns, training: str) -> None:
    cells = [row.cells for row in rows if row.problem is None]
    for column in (columns.text, columns.label, *([] if columns.second is None else [columns.second])):
        if cells and not any(column in each for each in cells):
            raise AttestError(
                f"{source} has no column {column!r} (its columns: {_listed(list(cells[0]))}); expected the columns "
                f"{columns.text!r} and {columns.label!r}, as in {training}. Rename the columns.{_without_header(source)}"
            )


def _name_them() -> str:
    return f"name the columns with {option('text_column', '<column>')} {option('label_column', '<column>')}"


def _require_header(source: str, names: Sequence[str], rows: Sequence[FileRow]) -> None:
    for name in names if _has_header(source) else ():
        if name and (_number(name) is not None or any(str(row.cells.get(name)).strip() == name for row in rows)):
            raise AttestError(
                f"{source} seems to have no header: its first line ({_listed(names)}) looks like the lines below it; expected "
                "the names of the columns in the first line. Write a header such as text,label above this line, or, if it is "
                f"the header, {_name_them()}."
            )


def _require_tags(source: str, rows: Sequence[FileRow], text: str, label: str) -> None:
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


def _looks_tagged(names: list[str], rows: Sequence[FileRow], label: str | None) -> bool:
    label = label or first_of(LABELS, names) or first_of(TAGS, names)
    if label is None:
        return False
    return isinstance(_first_cell(rows, label), list) or (label.lower() in TAGS and first_of(TOKENS, names) is not None)


def _first_cell(rows: Sequence[FileRow], column: str) -> object:
    return next((row.cells[column] for row in rows if row.cells.get(column) is not None), None)


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
"""One of a pair of surrogates, which JSON can spell and no text holds."""


def _instance(number: int, row: FileRow, columns: FileColumns) -> FileRow:
    """Return a row with its text and its label, or with a description of the problem if they are invalid."""
    if row.problem is not None:
        return row
    text, label = row.cells.get(columns.text), row.cells.get(columns.label)
    label = [row.cells.get(name) for name in columns.each] if columns.each else label
    try:
        text = _words(text) if columns.words else _string(text, "text")
        if columns.second is not None:
            text = (text, _string(row.cells.get(columns.second), "second text"))
        label = _tags(label, len(text)) if columns.tagging else _several(label, columns) if columns.several else _label(label)
    except ValueError as bad:
        return FileRow(row.place, problem=str(bad))
    return FileRow(row.place, number=number, text=text, label=label)


def _known(instance: FileRow, known: set[str]) -> FileRow:
    unknown = next((name for name in instance.names if name not in known), None)
    return instance if unknown is None else replace(instance, problem=f"unknown label {shortened(unknown)!r}")


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
"""A column with so few different labels is accepted as classes, whatever the labels look like."""


def in_order(names: set[str]) -> tuple[str, ...]:
    """Sort the names of classes: by number if all are numbers, else alphabetically with the tag ``O`` first."""
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    if len(numbers) < len(names):
        return tuple(sorted(names, key=lambda name: (name != "O", name)))
    return tuple(sorted(names, key=lambda name: (numbers[name], name)))


def _number(name: str) -> Decimal | None:
    with suppress(InvalidOperation):
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
