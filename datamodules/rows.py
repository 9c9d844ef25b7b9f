"""Rows of the user's own data: CSV, TSV, JSONL, parquet or a Hub dataset, each row with the place where it stands.

Errors about bad rows: how many, why, where, what was expected, and what may help.

Are these labels classes? Their names show it: numbers of a regression, one name a text, two spellings of one name.

Which columns of the user's own data hold the texts and the labels.

Text files whose bytes are not in the expected encoding: where the first such byte stands, and what to type.

One text of the user's own data with its label or tags, or what is wrong with its row.
"""

import codecs
import csv
import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError
from attest.datamodules.notice import option, say, shortened, some
from attest.datamodules.sources import load_hub_split, read_parquet

UTF_8 = "utf-8"
NULLS_LOOKED_FOR = 200
"""Bytes at the beginning of a file in which UTF-16 shows by its null bytes."""
PACKED = {
    b"\x1f\x8b": "compressed by gzip",
    b"PK\x03\x04": "a zip archive, as Excel's .xlsx files are",
    b"PAR1": "a parquet file",
}
"""How files begin that are no text, whatever their name says."""


def python_name(encoding: str) -> str:
    """What Python calls an encoding that reads a text file; UTF-8 is read with or without a byte order mark.

    Raises:
        AttestError: there is no such encoding.
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise AttestError(
            f"encoding is {encoding}, which is not known; expected one such as utf-8, latin-1, cp1252 or utf-16. "
            f"Type {option('encoding', 'latin-1')}"
        ) from None
    return "utf-8-sig" if name == UTF_8 else name


def require_text(path: Path) -> None:
    """Refuse a file that is packed, or of another kind, inside.

    Raises:
        AttestError: it begins like one.
    """
    with path.open("rb") as file:
        start = file.read(4)
    kind = next((kind for magic, kind in PACKED.items() if start.startswith(magic)), None)
    if kind is not None:
        raise AttestError(f"{path} is {kind}, not {path.suffix} text; expected plain text. Unpack, rename or export the file.")


def doubt(path: Path, encoding: str) -> str | None:
    """The sentence that a file is UTF-8 with letters beyond ASCII, where another encoding is named; None where it is not."""
    if python_name(encoding) == python_name(UTF_8):
        return None
    try:
        plain = path.read_bytes().decode(UTF_8).isascii()
    except UnicodeDecodeError:
        return None
    return None if plain else f"{path} is good UTF-8, which text in {encoding} hardly ever is; leave the encoding out if so."


def encoding_advice(path: Path, encoding: str) -> str:
    """Which byte of a file is not in its encoding, in which line, and how to read or convert the file."""
    content = path.read_bytes()
    guess = _guess(content)
    return (
        f"{_first_undecodable(content, encoding)} If the file is in {guess}, add {option('encoding', guess)}, or "
        f"convert it: `iconv -f {guess} -t utf-8 {path} > converted{path.suffix}`."
    )


def _first_undecodable(content: bytes, encoding: str) -> str:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"Line {line} holds the byte 0x{content[error.start]:02X}, which is not {encoding.upper()} there."
    return f"The file reads as {encoding.upper()}, but holds null characters."


def _guess(content: bytes) -> str:
    """UTF-16 has null bytes between letters; Latin-1 has no signs at 0x80 to 0x9F, where Windows-1252 has quotation marks."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content[:NULLS_LOOKED_FOR]:
        return "utf-16-be" if content.startswith(b"\0") else "utf-16-le"
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in content) else "latin-1"


HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
UNDECODABLE = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` makes of bytes that are not in the encoding."""
UNDECODED = "bytes that are not {}"
"""The problem of a row that has some."""
UNREADABLE = re.compile("[\udc80-\udcff\0]")
OF_EXCEL = ["sep=", ""]
"""The cells of Excel's line ``sep=;``, which may stand above the columns' names."""
QUOTED_CELL = re.compile(r'(?<![^\t\r\n])"[^"]*+(?:""[^"]*+)*+"(?![^\t\r\n])')
SEPARATORS = ",;\t|"
LONGEST_CELL = 2**31 - 1
"""The csv module gives up at 131,072 characters, which a text of 20,000 tokens reaches."""


@dataclass(frozen=True)
class Row:
    """One row as it was found."""

    place: str
    """``line 12`` of a text file, counted from 1 with the header; ``row 12`` of another, counted from 0."""
    cells: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None
    """Why the row cannot be read, if it cannot."""


def read_rows(source: str, split: str, encoding: str = UTF_8) -> list[Row]:
    """All rows of a file or Hub dataset, good and bad; blank lines are no rows.

    Args:
        source: path of a file whose ending says what it is, id of a Hub dataset, or a local folder laid out like one.
        split: which split of a Hub dataset.
        encoding: of text files.
    Raises:
        AttestError: there is no such file, dataset or encoding, the file's kind is not known, or it is broken as a whole.
    """
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix.lower() not in READERS:
            raise AttestError(f"{source} ends in {path.suffix or 'nothing'}; expected {_KINDS}. Rename or convert the file.")
        if path.suffix.lower() != ".parquet" and (sentence := doubt(path, encoding)):
            say(sentence)
        try:
            return list(READERS[path.suffix.lower()](path, encoding))
        except UnicodeError as error:  # of encodings that have no way to keep bytes of another
            raise AttestError(f"{source} cannot be read as {encoding} ({error}); expected its real encoding.") from error
    looks_like_hub = HUB_ID.fullmatch(source) and path.suffix.lower() not in READERS and not path.parent.is_dir()
    if path.is_dir() or looks_like_hub:
        return _numbered(load_hub_split(source, split, names=True))
    raise AttestError(
        f"There is no file {source}; expected {_KINDS}, or the id of a Hub dataset (owner/name). Check the path."
    )


def _csv(path: Path, encoding: str) -> Iterator[Row]:
    """Cells quoted with ``"`` where need be; the first line names the columns.

    Of comma, semicolon (as Excel writes where numbers have decimal commas), tab and bar, the one that separates most names
    separates all cells; any but the comma is said.
    """
    with _opened(path, encoding) as file:
        first = next((line for line in file if line.strip()), "")
    separator = max(SEPARATORS, key=lambda sign: len(next(csv.reader([first], delimiter=sign), [])))
    if separator != SEPARATORS[0]:
        say(f"{path}: cells are separated by {separator!r}, not by ','.")
    return _separated(path, encoding, delimiter=separator, strict=True)


def _tsv(path: Path, encoding: str) -> Iterator[Row]:
    """Tab-separated, the first line names the columns.

    Quotation marks are text, unless each of them stands as pandas and R write it: around a whole cell, doubled inside.
    """
    with _opened(path, encoding) as file:
        content = file.read()
    quoted = '"' in content and '"' not in QUOTED_CELL.sub("", content)
    if quoted:
        say(f"{path}: quotation marks around cells are left out, and doubled ones inside are read as one.")
    dialect: dict[str, Any] = {"strict": True} if quoted else {"quoting": csv.QUOTE_NONE}
    return _separated(path, encoding, delimiter="\t", **dialect)


def _opened(path: Path, encoding: str, newline: str = "") -> TextIO:
    """A text file; bytes that are not in its encoding stay in it, marked as ``UNDECODABLE``, and ends of lines as they are."""
    require_text(path)
    return path.open(encoding=python_name(encoding), errors="surrogateescape", newline=newline)


def _separated(path: Path, encoding: str, **dialect: Any) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_CELL)
    with _opened(path, encoding) as file:
        reader = csv.reader(file, **dialect)
        lines = filter(None, reader)
        try:
            first = next(lines, [])
            header = _column_names(path, next(lines, []) if first == OF_EXCEL else first, encoding)
            for cells in reader:
                if cells:
                    yield _row_of_cells(header, cells, f"line {reader.line_num}", encoding)
        except csv.Error as error:
            raise AttestError(
                f"{path} line {reader.line_num} is broken ({error}); expected cells with quotation marks closed and doubled "
                "inside. Correct the line, or save the data as JSONL."
            ) from error


def _column_names(path: Path, header: list[str], encoding: str) -> list[str]:
    """The names in the first line, without blanks around them.

    Raises:
        AttestError: they are in another encoding, there is one alone, or two columns have the same name.
    """
    if any(map(UNREADABLE.search, header)):
        raise AttestError(
            f"{path} names its columns in another encoding; expected {encoding.upper()}. {encoding_advice(path, encoding)}"
        )
    names = [name.strip() for name in header]
    if len(names) == 1:
        separators = "tabs" if path.suffix.lower() == ".tsv" else "commas, semicolons, tabs or bars"
        raise AttestError(
            f"{path} has one column only, by its first line ({shortened(names[0])}); expected the names of two or more, "
            f"separated by {separators}. Correct the first line, or give the file the suffix of its separator: .csv or .tsv"
        )
    _require_different(path, names)
    return names


def _require_different(path: Path, names: list[str]) -> None:
    twice = [name for name in dict.fromkeys(names) if name and names.count(name) > 1]
    if twice:
        raise AttestError(f"{path} has {names.count(twice[0])} columns named {twice[0]}; expected one. Rename the others.")


def _row_of_cells(header: list[str], cells: list[str], place: str, encoding: str) -> Row:
    if len(cells) != len(header):
        return Row(place, problem=f"{len(cells)} cells instead of {len(header)}")
    if any(map(UNDECODABLE.search, cells)):
        return Row(place, problem=UNDECODED.format(encoding.upper()))
    if [cell.strip() for cell in cells] == header:
        return Row(place, problem="the names of the columns again")
    return Row(place, dict(zip(header, cells, strict=True)))


def _jsonl(path: Path, encoding: str) -> Iterator[Row]:
    """One JSON object a line."""
    with _opened(path, encoding, newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _row_of_json(line, f"line {number}", encoding)


def _row_of_json(line: str, place: str, encoding: str) -> Row:
    if UNDECODABLE.search(line):
        return Row(place, problem=UNDECODED.format(encoding.upper()))
    try:
        cells = json.loads(line.lstrip("\ufeff"), object_pairs_hook=_once_each)
    except TwiceError as twice:
        return Row(place, problem=str(twice))
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return Row(place, problem="no JSON")
    return Row(place, cells) if isinstance(cells, dict) else Row(place, problem="no JSON object")


class TwiceError(ValueError):
    """A name stands twice where one value belongs."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        raise TwiceError("a name twice in one object")
    return cells


def _parquet(path: Path, encoding: str) -> list[Row]:
    """Any parquet table."""
    table = read_parquet(path)
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise AttestError(f"{path} is damaged ({error}); expected text in UTF-8. Write the file again.") from error
    _require_different(path, table.column_names)
    return _numbered(table)


def _numbered(table: pa.Table) -> list[Row]:
    return [Row(f"row {number}", cells) for number, cells in enumerate(table.to_pylist())]


READERS: dict[str, Callable[[Path, str], Iterator[Row] | list[Row]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".parquet": _parquet,
}
_KINDS = f"a file that ends in {', '.join(READERS)}"


BY_PROBLEM = {
    "no JSON": "A .jsonl file holds one JSON object a line; `jq -c '.[]' <file>` makes that of one large array, "
    "`jq -c . <file>` of objects over several lines. ",
    "a list where a label": "Texts with several labels are not read: make one column of each label, and name one. ",
    "cells instead of": "The first line must name the columns, and a cell that holds the separator needs quotation marks. ",
}
"""What may help where many rows have a problem, by words of its name."""


class Judged(Protocol):
    """Anything that has a place and may have a problem: a row, or the instance in it."""

    @property
    def place(self) -> str: ...

    @property
    def problem(self) -> str | None: ...


def useless(rows: Sequence[Judged]) -> bool:
    """Whether none of the rows is good."""
    return all(row.problem is not None for row in rows)


def complaint(source: str, rows: Sequence[Judged]) -> str:
    """How many rows of a file are bad, why and where, in a sentence."""
    places: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.problem is not None:
            places[row.problem].append(row.place)
    bad = sum(map(len, places.values()))
    reasons = [f"{problem} ({some(found)})" for problem, found in places.items()]
    return f"{source} has {bad} bad {'row' if bad == 1 else 'rows'} of {len(rows)}: {some(reasons, '; ')}."


def refusal(bad: Mapping[str, Sequence[Judged]], encoding: str, known: Sequence[str] = ()) -> AttestError:
    """The error for files with bad rows.

    Args:
        bad: rows by file, good and bad.
        encoding: of the files.
        known: the classes, once they are.
    """
    complaints = " ".join(complaint(source, rows) for source, rows in bad.items())
    label = f"known label ({some([*map(shortened, known)])})" if known else "known label"
    skip = "" if any(map(useless, bad.values())) else f", or leave them out with {option('on_bad_rows', 'skip')}"
    hints = "".join(dict.fromkeys(hint for source, rows in bad.items() for hint in _hints(source, rows, encoding)))
    return AttestError(f"{complaints} Expected a text and a {label} in every row. {hints}Correct the rows{skip}")


def _hints(source: str, rows: Sequence[Judged], encoding: str) -> list[str]:
    problems = {row.problem for row in rows if row.problem is not None}
    hints = [hint for words, hint in BY_PROBLEM.items() if any(words in problem for problem in problems)]
    if UNDECODED.format(encoding.upper()) in problems:
        hints.append(f"{encoding_advice(Path(source).expanduser(), encoding)} ")
    return hints


FEW = 20
"""As many classes as this are believed, whatever they look like."""
MISSING = ("nan", "na", "n/a", "null", "none")
TRUTH = {"true": Decimal(1), "false": Decimal(0)}
SHOWN = 3


def require_classes(source: str, labels: Sequence[str], *, tagging: bool) -> None:
    """Refuse labels of the training file that are no classes, and say what is odd about those that may be.

    Args:
        source: the training file.
        labels: names of the class of every text, or of the tag of every word.
        tagging: whether they are tags.
    Raises:
        AttestError: there are fewer than two classes, or they look like numbers to be predicted, or nearly every text has
            one of its own.
    """
    names = sorted(set(labels))
    if len(names) < 2:
        found = f"one class only ({names[0]})" if names else "no labelled text"
        raise AttestError(
            f"{source} has {found}; expected two classes or more. Give a file with texts of another class, or "
            f"{_other_column()}"
        )
    if len(names) > FEW and not tagging:
        _require_few(source, names, len(labels))
    for sentence in _oddities(names):
        say(f"{source}: {sentence}")


def _other_column() -> str:
    return f"name the right column with {option('label_column', '<column>')}"


def _require_few(source: str, names: list[str], texts: int) -> None:
    shown = ", ".join(names[:SHOWN])
    numbers = [number for name in names if (number := _number(name)) is not None]
    if any(number != number.to_integral_value() for number in numbers):
        raise AttestError(
            f"{source}: its {len(names)} different labels ({shown}, …) look like numbers of a regression; expected classes. "
            f"Sort them into a few classes first, such as low and high, or {_other_column()}"
        )
    if len(names) > texts / 2:
        raise AttestError(
            f"{source} has {len(names)} different labels for {texts} texts ({shown}, …); expected classes, each the label of "
            f"several texts. Sort them into classes first, or {_other_column()}"
        )


def _oddities(names: list[str]) -> list[str]:
    alike: dict[str | Decimal, list[str]] = defaultdict(list)
    for name in names:
        number = TRUTH.get(name.casefold(), _number(name))
        alike[_to_the_eye(name) if number is None else number].append(name)
    written = [
        f"the classes {' and '.join(map(_shown, spellings))} differ in spelling alone; they are taken for different classes."
        for spellings in alike.values()
        if len(spellings) > 1
    ]
    missing = [
        f"a class is named {name!r}; if that stands for no label, leave these rows out."
        for name in names
        if name.lower() in MISSING
    ]
    return written + missing


def _to_the_eye(name: str) -> str:
    """What names have in common that look alike: no capitals, no signs that are not seen, one form of each letter."""
    seen = "".join(sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) != "Cf")
    return " ".join(seen.casefold().split())


def _shown(name: str) -> str:
    """With escapes for signs that are not seen."""
    return repr(name) if name.isprintable() and _to_the_eye(name) == " ".join(name.casefold().split()) else ascii(name)


def _number(name: str) -> Decimal | None:
    with suppress(InvalidOperation):
        number = Decimal(name)
        return None if number.is_nan() else number
    return None


def in_order(names: set[str]) -> tuple[str, ...]:
    """By number where all are numbers, else by the alphabet; ``O``, the tag of no span, first."""
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    if len(numbers) < len(names):
        return tuple(sorted(names, key=lambda name: (name != "O", name)))
    return tuple(sorted(names, key=lambda name: (numbers[name], name)))


def lonely(labels: Sequence[str]) -> list[str]:
    """The classes of one text alone."""
    return [name for name, count in Counter(labels).items() if count == 1]


TEXTS = ("text", "sentence", "review", "content", "document", "body", "comment", "tweet", "description", "question", "title")
LABELS = ("label_text", "label_name", "label", "class", "category", "sentiment", "target", "topic", "stars", "rating", "score")
TOKENS = ("tokens", "words")
TAGS = ("tags", "chunk_tags", "ner_tags", "pos_tags", "labels")
WITH_A_HEADER = (".csv", ".tsv")
"""Files whose first line names the columns."""
NAMES_SHOWN = 12


@dataclass(frozen=True)
class Columns:
    """Where to look in each row."""

    text: str
    label: str
    tagging: bool
    """One label a token instead of one a text."""
    words: bool
    """Texts come as lists of words, or as words with blanks between, and are taken as they are."""
    guessed: bool
    others: tuple[str, ...] = ()
    """Columns that are not read."""

    @property
    def sentence(self) -> str:
        """What was chosen, in words."""
        what = "tokens and tags" if self.tagging else "texts and labels"
        unread = f" Not read: {_listed(self.others)}." if self.others else ""
        how = f" (guessed; {_name_them()})" if self.guessed else ""
        return f"{what} from the columns {self.text} and {self.label}{how}.{unread}"


def choose_columns(source: str, rows: Sequence[Row], text: str | None, label: str | None, tagging: bool | None) -> Columns:
    """The columns that the user names, else those that their names or, of two columns, their lengths give away.

    Args:
        source: the training file, for messages.
        rows: of it; at least one of them can be read.
        text, label: names given, or None to guess.
        tagging: whether labels are tags, or None to guess.
    Raises:
        AttestError: a column that was named is not there, none can be guessed, one is named for both, or the first line of
            the file is a text and its label instead of the columns' names.
    """
    names = list(dict.fromkeys(name for row in rows if row.problem is None for name in row.cells))
    for given in (text, label):
        if given is not None and given not in names:
            raise AttestError(f"There is no column {given}; expected one of {_listed(names)}. To choose, {_name_them()}.")
    guessed_kind = tagging is None
    tagging = _looks_tagged(names, rows, label) if tagging is None else tagging
    guessed = text is None or label is None
    label = label or _first_of(TAGS if tagging else LABELS, names, other_than=text)
    text = text or _first_of((*TOKENS, *TEXTS) if tagging else (*TEXTS, *TOKENS), names, other_than=label)
    if not (text and label):
        _require_header(source, names, rows)
        if len(names) == 2:
            text, label = _by_length(names, rows, text, label)
    if not text or not label:
        found = f"The columns {_listed(names)} of {source}"
        raise AttestError(
            f"{found} do not show which column holds the texts and which the labels; {_name_them()}.{_without_header(source)}"
        )
    if text == label:
        raise AttestError(
            f"Texts and labels would both be read from the column {text}; expected two. To choose, {_name_them()}."
        )
    words = tagging or isinstance(_first_cell(rows, text), list)
    if guessed_kind and tagging:
        _require_tags(source, rows, text, label)
    return Columns(text, label, tagging, words, guessed, tuple(name for name in names if name not in (text, label)))


def require_columns(source: str, rows: Sequence[Row], columns: Columns, training: str) -> None:
    """Refuse a file that lacks the columns of the training file.

    Raises:
        AttestError: no row has one of them.
    """
    cells = [row.cells for row in rows if row.problem is None]
    for column in (columns.text, columns.label):
        if cells and not any(column in each for each in cells):
            raise AttestError(
                f"{source} has no column {column} (it has {_listed(list(cells[0]))}); expected {columns.text} and "
                f"{columns.label}, as in {training}. Rename its columns.{_without_header(source)}"
            )


def _name_them() -> str:
    return f"name the columns with {option('text_column', '<column>')} {option('label_column', '<column>')}"


def _require_header(source: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """A line that should name the columns but holds a number, or what stands below it again, is a text and its label."""
    if not _has_header(source):
        return
    for name in names:
        if name and (_is_number(name) or any(str(row.cells.get(name)).strip() == name for row in rows)):
            raise AttestError(
                f"{source} seems to have no header: its first line ({_listed(list(names))}) is like the lines below; expected "
                "the names of the columns there. Write a line such as text,label above it, or "
                f"{_name_them()} if it is a header."
            )


def _require_tags(source: str, rows: Sequence[Row], text: str, label: str) -> None:
    """Refuse lists of labels beside texts that are no tags, because most are not as long as the text has words."""
    pairs = [(row.place, _count(row.cells.get(text)), _count(row.cells.get(label))) for row in rows if row.problem is None]
    other = [(place, words, tags) for place, words, tags in pairs if words != tags]
    if 2 * len(other) > len(pairs):
        place, words, tags = other[0]
        raise AttestError(
            f"{source}: the column {label} holds lists, and {len(other)} of {len(pairs)} are not as long as their texts "
            f"({tags} labels for {words} words in {place}); expected one label a text, or one tag a word. Texts with several "
            "labels are not read: make one column of each label, and name one."
        )


def _count(cell: object) -> int:
    return len(cell.split() if isinstance(cell, str) else cell) if isinstance(cell, str | list) else 0


def _is_number(name: str) -> bool:
    with suppress(ValueError):
        return float(name) is not None
    return False


def _looks_tagged(names: list[str], rows: Sequence[Row], label: str | None) -> bool:
    """Whether the labels are lists, or there is no column of labels but one of tags."""
    label = label or _first_of(LABELS, names) or _first_of(TAGS, names)
    if label is None:
        return False
    return isinstance(_first_cell(rows, label), list) or (label.lower() in TAGS and _first_of(TOKENS, names) is not None)


def _first_cell(rows: Sequence[Row], column: str) -> object:
    return next((row.cells[column] for row in rows if row.cells.get(column) is not None), None)


def _first_of(known: Sequence[str], names: list[str], other_than: str | None = None) -> str | None:
    there = [name for name in names if name != other_than]
    by_name = {name.lower(): name for name in there} | {name: name for name in there}
    return next((by_name[name] for name in known if name in by_name), None)


def _by_length(names: list[str], rows: Sequence[Row], text: str | None, label: str | None) -> tuple[str, str]:
    """Of two columns, the one with the longer cells holds the texts."""
    length = {name: sum(len(str(row.cells.get(name))) for row in rows) for name in names}
    text = text or max((name for name in names if name != label), key=length.__getitem__)
    return text, label or next(name for name in names if name != text)


def _listed(names: Sequence[str]) -> str:
    return some([shortened(name) or "(no name)" for name in names], few=NAMES_SHOWN) or "none"


def _without_header(source: str) -> str:
    """What may be wrong where names are missing from the first line of a file."""
    return " If the first line is not a header, write one above it: text,label" if _has_header(source) else ""


def _has_header(source: str) -> bool:
    return source.lower().endswith(WITH_A_HEADER)


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


def require_different_files(sources: Mapping[str, str]) -> None:
    """Refuse one file for two splits, also under two names; a Hub dataset or folder holds several splits.

    Args:
        sources: by split, a path or Hub id.
    Raises:
        AttestError: two splits are one file.
    """
    files = {split: path for split, source in sources.items() if (path := Path(source).expanduser()).is_file()}
    for (split, file), (other, same) in combinations(files.items(), 2):
        if file.samefile(same):
            raise AttestError(
                f"{sources[split]} is given for {split} and for {other}; expected files with different texts, because scores "
                f"on training texts say nothing. Give another file with {option(other, '<file>')}"
            )


def copies(splits: Mapping[str, pa.Array]) -> dict[str, int]:
    """How many texts of a split stand in an earlier one too, by ``test in train``; pairs of splits that share none left out.

    Args:
        splits: by name, in order, the texts.
    """
    pairs = combinations(splits, 2)
    counts = {f"{later} in {earlier}": pc.sum(pc.is_in(splits[later], splits[earlier])).as_py() for earlier, later in pairs}
    return {pair: count for pair, count in counts.items() if count}


def told(copied: Mapping[str, int], texts: Mapping[str, int]) -> list[str]:
    """A sentence for each entry of ``copies``.

    Args:
        copied: what that returns.
        texts: how many each split has.
    """
    return [
        f"{count:,} of the {texts[later]:,} texts of the {later} split are also in the {earlier} split, so scores on them do "
        "not show what the model makes of new texts."
        for pair, count in copied.items()
        for later, _, earlier in [pair.split()]
    ]
