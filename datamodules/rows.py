"""Rows of the user's own data: CSV, TSV, JSONL, parquet or a Hub dataset, each row with the place where it stands."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from attest.datamodules.encodings import UTF_8, doubt, encoding_advice, python_name, require_text
from attest.datamodules.hub import load_hub_split
from attest.datamodules.notice import say, shortened
from attest.datamodules.sources import read_parquet
from attest.errors import AttestError

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
