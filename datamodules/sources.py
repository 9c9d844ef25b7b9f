"""The sources of the real corpora: files below the folder ATTEST_DATA if it is set, else a public source.

Only data files are read from the Hugging Face Hub; the code of a dataset is never run.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from attest.core.catalogue import DATA_VARIABLE, HUB, kept, out_of_reach
from attest.core.errors import AttestError, said_by
from attest.core.hub import hub_answers

if TYPE_CHECKING:
    import datasets


@dataclass(frozen=True)
class Fingerprint:
    """The hashes of the content of a split; files that differ only in compression or layout have equal hashes."""

    rows: int
    ordered: str
    """The first 16 hexadecimal digits of a SHA-256 over all instances of the split, in their order."""
    unordered: str
    """The first 16 hexadecimal digits of a SHA-256 over the sorted instances of the split, which does not depend on their
    order."""

    @classmethod
    def of(cls, table: pa.Table) -> "Fingerprint":
        """Return the fingerprint of a table, computed from the hashes of all its rows."""
        columns = [column.to_pylist() for column in table.columns]
        rows = (json.dumps(row, ensure_ascii=False) for row in zip(*columns, strict=True))
        digests = [hashlib.sha256(row.encode("utf-8", "surrogatepass")).digest() for row in rows]
        return cls(table.num_rows, _combined(digests), _combined(sorted(digests)))

    def difference(self, known: "Fingerprint") -> str | None:
        """Return how this split differs from the known split, in words; None if it does not differ."""
        if self.ordered == known.ordered:
            return None
        if self.unordered == known.unordered:
            return f"the same {known.rows:,} instances as the known version but in another order, so random splits differ"
        if self.rows != known.rows:
            return f"{self.rows:,} instances instead of {known.rows:,}"
        return f"as many instances as the known version ({self.rows:,}), but some of them with other content"


def _combined(digests: list[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


def local_file(corpus: str, *patterns: str) -> Path | None:
    """Return the first file of a corpus that matches one of ``patterns``; None if ``ATTEST_DATA`` is not set."""
    data = os.environ.get(DATA_VARIABLE)
    if not data:
        return None
    folder = Path(data).expanduser() / corpus
    found = [file for pattern in patterns for file in sorted(folder.glob(pattern))]
    if not found:
        raise AttestError(
            f"{DATA_VARIABLE} names a folder without {corpus}/{patterns[0]} (looked in {folder}); expected the files of "
            f"{corpus} there. Put them into this folder, or unset {DATA_VARIABLE} to load the corpus from its public source; "
            "DATA=planted and DATA=babi-generated need no files."
        )
    return found[0]


def read_parquet(path: Path) -> pa.Table:
    with opened_parquet(path) as file:
        return file.read()


@contextmanager
def opened_parquet(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a parquet file; refuse it in a sentence if it cannot be read, now or inside the ``with`` block."""
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise AttestError(
            f"{path} cannot be read as parquet ({said_by(error)}); expected a complete file. Copy it again."
        ) from error


def require_columns(table: pa.Table, columns: tuple[str, ...], where: str) -> pa.Table:
    """Return the given columns of a table, in the given order; refuse a table that lacks one of them."""
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise AttestError(
            f"{where} lacks columns: {', '.join(missing)}. Its columns are: {', '.join(table.column_names)}. Give a file with "
            f"the columns {', '.join(columns)}."
        )
    return table.select(columns).replace_schema_metadata(None)


PARQUET = "refs/convert/parquet"
"""The git branch of a data set on the Hub with a copy in Parquet files. Where a data set is made by a script, this copy can be
read without running the script."""


def load_hub_split(
    repository: str, split: str, revision: str | None = None, *, names: bool = False, subset: str | None = None
) -> pa.Table:
    import datasets  # a second and a half that local files need not wait for

    if not Path(repository).exists() and not kept(repository) and not hub_answers():
        raise out_of_reach(repository, HUB)
    try:
        rows = datasets.load_dataset(repository, subset, split=split, revision=revision)
    except (datasets.exceptions.DatasetsError, FileNotFoundError, ValueError, RuntimeError) as error:
        raise AttestError(
            f"the {split} split of {repository} cannot be read ({said_by(error)}); expected a dataset of plain data files "
            "with this split. Look at the page of the dataset on the Hub, or give local files."
        ) from error
    except OSError as error:  # a ConnectionError is one
        raise out_of_reach(repository, HUB) from error
    return _with_names(rows) if names else rows.with_format("arrow")[:]


def classes_of(feature: Any) -> list[str] | None:
    """Return the class names of a column of classes, or of lists of classes, by its feature; None of any other column."""
    return getattr(getattr(feature, "feature", feature), "names", None)


def _with_names(rows: "datasets.Dataset") -> pa.Table:
    """Return the rows with class names instead of class numbers; -1 (no label) becomes null."""
    table = rows.with_format("arrow")[:]
    for index, (column, feature) in enumerate(rows.features.items()):
        names = classes_of(feature)
        if names is not None:
            values = [_named(value, names) for value in table[column].to_pylist()]
            table = table.set_column(index, column, pa.array(values))
    return table


def _named(value: Any, names: list[str]) -> Any:
    if isinstance(value, list):
        return [_named(number, names) for number in value]
    return None if value is None or value < 0 else names[value]
