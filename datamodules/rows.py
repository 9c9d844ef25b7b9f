"""Rows of the user's own data: CSV, TSV, JSONL, parquet or a Hub dataset, each row with the place where it stands."""

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from attest.datamodules.hub import load_hub_split
from attest.datamodules.sources import read_parquet
from attest.errors import AttestError

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
UNDECODABLE = re.compile("[\udc80-\udcff]")
"""What ``surrogateescape`` makes of bytes that are no UTF-8."""
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


def read_rows(source: str, split: str) -> list[Row]:
    """All rows of a file or Hub dataset, good and bad; blank lines are no rows.

    Args:
        source: path of a file whose ending says what it is, id of a Hub dataset, or a local folder laid out like one.
        split: which split of a Hub dataset.
    Raises:
        AttestError: there is no such file or dataset, its kind is not known, or it is broken as a whole.
    """
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix.lower() not in READERS:
            raise AttestError(f"{source} ends in {path.suffix or 'nothing'}; expected {_KINDS}. Rename or convert the file.")
        return list(READERS[path.suffix.lower()](path))
    looks_like_hub = HUB_ID.fullmatch(source) and path.suffix.lower() not in READERS and not path.parent.is_dir()
    if path.is_dir() or looks_like_hub:
        return _numbered(load_hub_split(source, split, names=True))
    raise AttestError(
        f"There is no file {source}; expected {_KINDS}, or the id of a Hub dataset (owner/name). Check the path."
    )


def _csv(path: Path) -> Iterator[Row]:
    """Comma-separated, quoted with ``"`` where need be, the first line names the columns."""
    return _separated(path, delimiter=",", strict=True)


def _tsv(path: Path) -> Iterator[Row]:
    """Tab-separated, quotation marks are text, the first line names the columns."""
    return _separated(path, delimiter="\t", quoting=csv.QUOTE_NONE)


def _separated(path: Path, **dialect: Any) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, **dialect)
        try:
            header = next(reader, [])
            for cells in reader:
                if cells:
                    yield _row_of_cells(header, cells, f"line {reader.line_num}")
        except csv.Error as error:
            raise AttestError(
                f"{path} line {reader.line_num} is broken ({error}); expected cells with quotation marks closed and doubled "
                "inside. Mend the line, or save the data as JSONL."
            ) from error


def _row_of_cells(header: list[str], cells: list[str], place: str) -> Row:
    if len(cells) != len(header):
        return Row(place, problem=f"{len(cells)} cells instead of {len(header)}")
    if any(map(UNDECODABLE.search, cells)):
        return Row(place, problem="bytes that are no UTF-8")
    return Row(place, dict(zip(header, cells, strict=True)))


def _jsonl(path: Path) -> Iterator[Row]:
    """One JSON object a line."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _row_of_json(line, f"line {number}")


def _row_of_json(line: bytes, place: str) -> Row:
    try:
        cells = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Row(place, problem="bytes that are no UTF-8")
    except (json.JSONDecodeError, RecursionError):
        return Row(place, problem="no JSON")
    return Row(place, cells) if isinstance(cells, dict) else Row(place, problem="no JSON object")


def _parquet(path: Path) -> list[Row]:
    """Any parquet table."""
    table = read_parquet(path)
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise AttestError(f"{path} is broken inside ({error}); expected text in UTF-8. Write the file anew.") from error
    return _numbered(table)


def _numbered(table: pa.Table) -> list[Row]:
    return [Row(f"row {number}", cells) for number, cells in enumerate(table.to_pylist())]


READERS: dict[str, Callable[[Path], Iterator[Row] | list[Row]]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".parquet": _parquet,
}
_KINDS = f"a file that ends in {', '.join(READERS)}"
