"""The texts with labels in the user's files: columns are chosen, bad rows are refused or left out."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from attest.core.errors import AttestError
from attest.datamodules.forms import LABEL_NAMES, TAG_NAMES, TOKEN_NAMES, Form, Tags, first_of
from attest.datamodules.notice import option, say, shortened, some
from attest.datamodules.rows import ENCODING_ADVICE, UNDECODED, UTF_8, FileRow, Rows, read_rows


@dataclass(frozen=True)
class FileOptions:
    """The user's options for reading files; Attest guesses the options that are None.

    Args:
        text_column, label_column, encoding, on_bad_rows: as in ``FilesDataModule``.
        form: what texts and labels look like; None for texts with a class each, or for words with tags, if the file has these.
        second_column: the column of the second text of a pair, or of what the form has beside every text, where choices in
            a column each have commas between; None for single texts, or to guess it.
        pairs: whether the second text of a pair is guessed by the name of its column, if no ``text_column`` is named.
        groups: columns with what the user knows of each text, such as its source, which are kept beside the labels.
    """

    text_column: str | None = None
    label_column: str | None = None
    form: Form | None = None
    encoding: str = UTF_8
    on_bad_rows: str = "refuse"
    second_column: str | None = None
    pairs: bool = False
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
                _, label = columns.instance(row)
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
                found.append(self._columns.instance(row)[0])
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
        _require_classes(sources[first], labels, columns.form.tagging)
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
    expected = (options.form or Form()).expected + (f" ({some([*map(shortened, known)])})" if known else "")
    skip = "" if useless else f", or leave them out with {option('on_bad_rows', 'skip')}"
    raise AttestError(
        f"{_complaint(source, bad, rows)} Expected {expected} in every row. "
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
        form: what texts and labels look like.
        words: whether texts are lists of words, or words with blanks between, so that they are not tokenised.
        guessed: whether the name of a column was guessed.
        others: columns that are not read.
        beside: the column of the second text of a pair, or of what the form has beside every text; empty for single texts.
        each: the columns of the labels, where each label has a column of 0 and 1; else empty.
    """

    text: str
    label: str
    form: Form
    words: bool
    guessed: bool
    others: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    each: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """Return the names of all columns that are read."""
        return [self.text, self.label, *self.each, *self.beside]

    @property
    def sentence(self) -> str:
        """Return a sentence that names the columns of the file from which texts and labels are read."""
        pairs = "pairs of " if self.beside and self.form.second is None else ""
        unread = f" Not read: {_listed(self.others)}." if self.others else ""
        how = f" (guessed; {_name_them(self.form)})" if self.guessed else ""
        read = ", ".join((self.text, *self.beside))
        return f"{pairs}{self.form.called} from the columns {read} and {', '.join(self.each) or self.label}{how}.{unread}"

    def instance(self, row: FileRow) -> tuple[Any, Any]:
        """Return the text and the label of a row; raise a ``ValueError`` with a description of the problem if it has one."""
        if row.problem is not None:
            raise ValueError(row.problem)
        label = [row.cells.get(name) for name in self.each] if self.each else row.cells.get(self.label)
        return self.form.read(row.cells.get(self.text), [row.cells.get(name) for name in self.beside], label, self.words)


def choose_columns(source: str, rows: Rows, options: FileOptions) -> FileColumns:
    """Choose the columns of texts and labels in a file; guess those that the user does not name."""
    text, label, names = options.text_column, options.label_column, rows.names
    form = options.form or (Tags() if _looks_tagged(names, rows, label) else Form())
    beside = _typed(options.second_column, names, form)
    for given in (text, label, *beside):
        if given is not None and given not in names:
            raise AttestError(
                f"There is no column {given!r}; expected one of: {_listed(names)}. To choose, {_name_them(form)}."
            )
    guessed = text is None or label is None or (form.second is not None and not beside)
    if not beside and (form.second is not None or (options.pairs and text is None)):
        beside = form.beside([name for name in names if name not in (text, label)])
    names = [name for name in names if name not in beside]
    each = form.each(names) if label is None else ()
    label = label or (each[0] if each else first_of(form.labels, names, other_than=text))
    text = text or first_of(form.texts, names, other_than=label)
    if not (text and label):
        _require_header(source, names, rows, form)
        if len(names) == 2 and form.second is None:  # the longer cells are the texts
            length = dict.fromkeys(names, 0)
            for row in rows:
                length = {name: count + len(str(row.cells.get(name))) for name, count in length.items()}
            text = text or max((name for name in names if name != label), key=length.__getitem__)
            label = label or next(name for name in names if name != text)
    if not text or not label or (form.second is not None and not beside):
        missing = [what for what, column in (("texts", text), (form.second, beside), ("labels", label)) if what and not column]
        which = " and which contains ".join(("texts", "labels") if form.second is None else missing)
        raise AttestError(
            f"{source} has the columns {_listed(rows.names)}, and their names do not tell which column contains {which}; "
            f"{_name_them(form)}.{_without_header(source, form)}"
        )
    if options.text_column is None and (parts := form.joined(names)):
        raise AttestError(
            f"{source} has the columns {' and '.join(parts)}, and the model reads one text with each choice; expected one "
            f"column with all of it. Join them, or, if one says all, name it with {option('text_column', '<column>')}"
        )
    if text == label:
        raise AttestError(
            f"Texts and labels would both be read from the column {text!r}; expected two different columns. To choose, "
            f"{_name_them(form)}."
        )
    if twice := [name for name in (text, label, *beside) if (text, label, *beside).count(name) > 1]:
        raise AttestError(
            f"The column {twice[0]!r} was named twice; expected different columns. To choose, {_name_them(form)}."
        )
    if options.form is None and form.tagging:
        _require_tags(source, rows, text, label)
    words = form.tagging or (not beside and isinstance(_first_cell(rows, text), list))
    others = tuple(name for name in names if name not in (text, label, *each))
    return FileColumns(text, label, form, words, guessed, others, beside, each)


def _typed(second: str | None, names: Sequence[str], form: Form) -> tuple[str, ...]:
    """Return the columns that the user named for what stands beside a text; several if it can have a column each."""
    if second is None:
        return ()
    if form.tagging:
        raise AttestError("A tag belongs to a word of one text, and a second column was named; leave it out.")
    return tuple(name.strip() for name in second.split(",")) if form.in_columns and second not in names else (second,)


def _require_columns(source: str, rows: Rows, columns: FileColumns, training: str) -> None:
    for column in columns.read:
        if rows.names and column not in rows.names:
            raise AttestError(
                f"{source} has no column {column!r} (its columns: {_listed(rows.names)}); expected the columns "
                f"{columns.text!r} and {columns.label!r}, as in {training}. Rename the columns."
                f"{_without_header(source, columns.form)}"
            )


def _name_them(form: Form) -> str:
    second = (
        "" if form.second is None else f" {option('second_column', '<column>,<column>,…' if form.in_columns else '<column>')}"
    )
    return f"name the columns with {option('text_column', '<column>')}{second} {option('label_column', '<column>')}"


def _require_header(source: str, names: Sequence[str], rows: Rows, form: Form) -> None:
    if _has_header(source):
        named = [name for name in names if name]
        again = (any(str(row.cells.get(name)).strip() == name for name in named) for row in rows)
        if any(_number(name) is not None for name in named) or any(again):
            raise AttestError(
                f"{source} seems to have no header: its first line ({_listed(names)}) looks like the lines below it; expected "
                f"the names of the columns in the first line. Write a header such as {form.header} above this line, or, if it "
                f"is the header, {_name_them(form)}."
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
    label = label or first_of(LABEL_NAMES, names) or first_of(TAG_NAMES, names)
    if label is None:
        return False
    return isinstance(_first_cell(rows, label), list) or (
        label.lower() in TAG_NAMES and first_of(TOKEN_NAMES, names) is not None
    )


def _first_cell(rows: Rows, column: str) -> object:
    return next((row.cells[column] for row in rows.of([column]) if row.cells.get(column) is not None), None)


def _listed(names: Sequence[str]) -> str:
    return some([shortened(name) or "(no name)" for name in names], few=12) or "none"


def _without_header(source: str, form: Form) -> str:
    return f" If the first line is not a header, write a header above it: {form.header}" if _has_header(source) else ""


def _has_header(source: str) -> bool:
    return source.lower().endswith((".csv", ".tsv"))


def label_names(label: Any) -> list[str]:
    """Return the labels or the tags of a text as a list."""
    return label if isinstance(label, list) else [label]


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
