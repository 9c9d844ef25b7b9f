"""The rows of the user's files (CSV, TSV, JSONL, parquet) or of a dataset on the Hub, each with its line or row number.

A row that cannot be read is kept with its problem, so that one message can name all bad rows of a file.
"""

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from attest.core.errors import AttestError
from attest.datamodules.notice import option, say, shortened
from attest.datamodules.sources import load_hub_split, opened_parquet

UTF_8 = "utf-8"
UNDECODED = "bytes that are not {}"
"""The reason for which a row is refused whose bytes cannot be decoded; the name of the file's encoding replaces ``{}``."""
ENCODING_ADVICE = "If the file has another encoding, name it, for example latin-1, cp1252 or utf-16: add {}."
MARKED = {
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32"),  # before UTF-16, whose mark begins the same
    **dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16"),
}
"""The encodings that a text file can name by its first bytes, its byte order mark."""
PACKED = {
    b"\x1f\x8b": "is compressed with gzip; expected plain text. Unpack it, and name the unpacked file.",
    b"PK\x03\x04": "is a ZIP archive, as Excel writes them; expected plain text. Save it as CSV, or unpack it.",
}
"""What to say of a file with the ending of a text file, by the first bytes of files that are none."""
UNDECODABLE = re.compile("[\udc80-\udcff]")
"""Matches the characters that stand for bytes which could not be decoded: Python's error handler ``surrogateescape`` makes
them."""
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
QUOTED_CELL = re.compile(r'(?<![^\t\r\n])"[^"]*+(?:""[^"]*+)*+"(?![^\t\r\n])')
SEPARATORS = ",;\t|"
SEPARATOR_TOLD = re.compile(rf"\ufeff?sep=([{SEPARATORS}])", re.IGNORECASE)
"""Matches a first line that tells Excel which character separates cells."""
ROWS_AT_ONCE = 10_000
"""The number of rows that are held as Python objects at the same time while a table is read; it bounds the memory."""
LONGEST_CELL = 2**31 - 1
"""The largest number of characters of a cell. It replaces the limit of Python's csv module, 131,072, which a text of 20,000
tokens reaches."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of a file, with its line or row number.

    Args:
        place: ``line 12`` of a text file, counted from 1 with the header; ``row 12`` of another, counted from 0.
        cells: values by column.
        problem: why the row cannot be read; None if it can.
    """

    place: str
    cells: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


Reader = Callable[[Sequence[str] | None], Iterable[FileRow]]
"""A function that reads all rows of a source from the beginning. Its argument is the names of the columns that are needed, of
which others may be left out, or None for all columns."""


class Rows:
    """All rows of a source, invalid ones too. Each time they are gone through, they are read anew, one at a time.

    So a file of a million rows takes the memory of those that somebody keeps.

    Args:
        again: goes through the rows.
        names, count: the columns and the number of rows, if they are known without reading the rows; no row is then invalid.
    """

    def __init__(self, again: Reader, names: Sequence[str] | None = None, count: int = 0) -> None:
        self._again, self._count = again, count
        self.names: list[str] = [*(names or ())]
        """The names of all columns; a column counts as soon as a single row has a value for it."""
        self.problems: list[tuple[str, str]] = []
        """The rows that cannot be read: where each stands, such as ``line 12``, and the reason."""
        if names is None:
            self._look()

    def _look(self) -> None:
        names: dict[str, None] = {}
        for row in self:
            self._count += 1
            if row.problem is not None:
                self.problems.append((row.place, row.problem))
            for name in row.cells:
                names[name] = None
        self.names = [*names]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[FileRow]:
        return iter(self._again(None))

    def of(self, columns: Iterable[str]) -> Iterator[FileRow]:
        """Go through the rows, for the cells of these columns at least."""
        return iter(self._again([name for name in self.names if name in {*columns}]))


def read_rows(source: str, split: str, encoding: str = UTF_8) -> Rows:
    """Return the rows of a file or of a Hub dataset, including invalid rows but without blank lines.

    Args:
        source: path of a file whose ending names its format, id of a Hub dataset, or local folder in the form of one.
    """
    path, suffix = Path(source).expanduser(), Path(source).suffix.lower()
    if path.is_file():
        if suffix not in READERS:
            ending = f"the ending {path.suffix}" if path.suffix else "no file ending"
            raise AttestError(f"{source} has {ending}; expected {_KINDS}. Rename or convert the file.")
        try:
            return READERS[suffix](path, encoding)
        except UnicodeError as error:  # of encodings that have no way to keep bytes of another
            raise AttestError(
                f"{source} cannot be read as {encoding} ({error}); expected the encoding in which the file was written."
            ) from error
    looks_like_hub = HUB_ID.fullmatch(source) and suffix not in READERS and not path.parent.is_dir()
    if source and path.is_dir() and not any(file.suffix.lower() in READERS for file in (*path.glob("*"), *path.glob("*/*"))):
        raise AttestError(f"the folder {source} contains no files of data; expected {_KINDS}. Name one file.")
    if (source and path.is_dir()) or looks_like_hub:
        table = load_hub_split(source, split, names=True)
        return Rows(
            lambda columns: _numbered(table.select(columns or table.column_names).to_batches()), table.column_names, len(table)
        )
    raise AttestError(
        f"There is no file {source or repr('')}; expected {_KINDS}, or the id of a Hub dataset (owner/name). Check the path."
    )


def _opened(path: Path, encoding: str, newline: str = "") -> TextIO:
    """Open a text file; bytes that its encoding cannot decode become surrogates instead of an error."""
    try:
        name = codecs.lookup(encoding).name
        _require_written_in(path, name)
        return path.open(encoding="utf-8-sig" if name == UTF_8 else name, errors="surrogateescape", newline=newline)
    except LookupError:
        raise AttestError(
            f"the encoding {encoding!r} is not known; expected an encoding such as utf-8, latin-1, cp1252 or utf-16. Type "
            f"{option('encoding', 'latin-1')}"
        ) from None


def _require_written_in(path: Path, encoding: str) -> None:
    """Refuse a file whose first bytes say that it is packed, or is in another encoding than that of this name."""
    with path.open("rb") as file:
        begin = file.read(4)
    if said := next((said for first, said in PACKED.items() if begin.startswith(first)), None):
        raise AttestError(f"{path} {said}")
    said = next((said for mark, said in MARKED.items() if begin.startswith(mark)), encoding)
    if not encoding.startswith(said):
        advice = f"Type {option('encoding', said)}"
        raise AttestError(f"{path} is in {said.upper()}, as its first bytes say; expected {encoding.upper()}. {advice}")


def _csv(path: Path, encoding: str) -> Rows:
    """Return the rows of a CSV file, whose cells may be quoted with ``"``.

    The separator is the character that splits the first line into the most names, because Excel may write semicolons; or the
    first line says it for Excel, as in ``sep=;``.
    """
    with _opened(path, encoding) as lines:
        first = next((line for line in lines if line.strip()), "")
    if told := SEPARATOR_TOLD.fullmatch(first.rstrip("\r\n")):
        separator = told[1]
    else:
        separator = max(SEPARATORS, key=lambda sign: len(next(csv.reader([first], delimiter=sign), [])))
    if separator != SEPARATORS[0]:
        say(f"{path}: cells are separated by {separator!r}, not by ','.")
    return Rows(lambda _: _separated(path, encoding, told is not None, delimiter=separator, strict=True))


def _tsv(path: Path, encoding: str) -> Rows:
    """Return the rows of a TSV file; quotation marks are kept as text unless all of them enclose whole cells."""
    with _opened(path, encoding) as lines:
        text = lines.read() if any('"' in line for line in lines) and lines.seek(0) == 0 else ""
    quoted = '"' in text and '"' not in QUOTED_CELL.sub("", text)
    if quoted:
        say(f"{path}: quotation marks around cells are left out, and doubled ones inside are read as one.")
    dialect: dict[str, Any] = {"strict": True} if quoted else {"quoting": csv.QUOTE_NONE}
    return Rows(lambda _: _separated(path, encoding, delimiter="\t", **dialect))


def _separated(path: Path, encoding: str, told: bool = False, **dialect: Any) -> Iterator[FileRow]:
    csv.field_size_limit(LONGEST_CELL)
    with _opened(path, encoding) as text:
        reader = csv.reader(text, **dialect)
        lines = filter(None, reader)
        try:
            if told:
                next(lines)  # which names the separator
            header = _column_names(path, next(lines, []), encoding)
            for cells in lines:
                place = f"line {reader.line_num}"
                if len(cells) != len(header):
                    yield FileRow(place, problem=f"{len(cells)} cells instead of {len(header)}")
                elif any(map(UNDECODABLE.search, cells)):
                    yield FileRow(place, problem=UNDECODED.format(encoding.upper()))
                else:
                    yield FileRow(place, dict(zip(header, cells, strict=True)))
        except csv.Error as error:
            raise AttestError(
                f"line {reader.line_num} of {path} cannot be read ({error}); expected every quotation mark to be closed, and "
                "doubled inside a cell. Correct the line, or save the data as JSONL."
            ) from error


def _column_names(path: Path, header: list[str], encoding: str) -> list[str]:
    if any(UNDECODABLE.search(name) or "\0" in name for name in header):
        raise AttestError(
            f"the first line of {path} is not in {encoding.upper()}; expected {encoding.upper()}. "
            f"{ENCODING_ADVICE.format(option('encoding', 'latin-1'))}"
        )
    names = [name.strip() for name in header]
    if len(names) == 1:
        separators = "tabs" if path.suffix.lower() == ".tsv" else "commas, semicolons, tabs or bars"
        raise AttestError(
            f"the first line of {path} names only one column ({shortened(names[0])!r}); expected at least two names, "
            f"separated by {separators}. Correct the first line, or rename the file: .tsv for tabs, else .csv"
        )
    _require_different(path, names)
    return names


def _require_different(path: Path, names: list[str]) -> None:
    if twice := next((name for name in names if name and names.count(name) > 1), None):
        raise AttestError(
            f"{path} has {names.count(twice)} columns named {twice!r}; expected only one column of this name. Rename the "
            "other columns."
        )


def _jsonl(path: Path, encoding: str) -> Rows:
    return Rows(lambda _: _rows_of_json(path, encoding))


def _rows_of_json(path: Path, encoding: str) -> Iterator[FileRow]:
    with _opened(path, encoding, newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _row_of_json(line, f"line {number}", encoding)


def _row_of_json(line: str, place: str, encoding: str) -> FileRow:
    if UNDECODABLE.search(line):
        return FileRow(place, problem=UNDECODED.format(encoding.upper()))
    try:
        cells = json.loads(line.lstrip("\ufeff"), object_pairs_hook=_once_each)
    except KeyError:
        return FileRow(place, problem="one JSON object has the same key twice")
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return FileRow(place, problem="not JSON")
    return FileRow(place, cells) if isinstance(cells, dict) else FileRow(place, problem="not a JSON object")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the cells of a JSON object; raise a ``KeyError`` if a name occurs twice."""
    cells = dict(pairs)
    if len(cells) < len(pairs):
        raise KeyError
    return cells


def _parquet(path: Path, encoding: str) -> Rows:
    """Return the rows of a parquet file; its metadata have their number, and each time only the asked columns are read."""
    with opened_parquet(path) as file:
        names, count = file.schema_arrow.names, file.metadata.num_rows
    _require_different(path, names)
    return Rows(lambda columns: _numbered(_batches(path, columns)), names, count)


def _batches(path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    with opened_parquet(path) as file:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns):
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid as error:
                raise AttestError(f"{path} cannot be read ({error}); expected text in UTF-8. Write the file again.") from error
            yield batch


def _numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[FileRow]:
    rows = (
        cells
        for batch in batches
        for begin in range(0, len(batch), ROWS_AT_ONCE)
        for cells in batch[begin : begin + ROWS_AT_ONCE].to_pylist()
    )
    for number, cells in enumerate(rows):
        yield FileRow(f"row {number}", cells)


READERS: dict[str, Callable[[Path, str], Rows]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".parquet": _parquet,
}
_KINDS = f"a file that ends in {', '.join(READERS)}"
