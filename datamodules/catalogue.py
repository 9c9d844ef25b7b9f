"""The corpora in files and their sources, without reading them: for ``attest doctor``."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Source:
    """Of one corpus.

    Args:
        splits: each has a file below ``ATTEST_DATA/<corpus>``.
        hub: its repository on the Hugging Face Hub; empty where it comes from ``archive``.
        archive: the site that it is downloaded from.
        file: how the file of a split is called, a glob pattern.
        instead: the same of each split in another layout, where there are two.
    """

    splits: tuple[str, ...]
    hub: str = ""
    archive: str = ""
    file: str = "{}.parquet"
    instead: tuple[str, ...] = ()

    def found(self, folder: Path) -> dict[str, list[Path]]:
        """The files in a folder by what each split's is called; an empty list where there is none."""
        layouts = [[self.file.format(split) for split in self.splits], self.instead]
        first, other = ({name: sorted(folder.glob(name)) for name in layout} for layout in layouts)
        return other if any(other.values()) and not any(first.values()) else first


CATALOGUE = {
    "sst": Source(("train", "validation", "test"), hub="SetFit/sst5"),
    "imdb": Source(("train", "test"), hub="stanfordnlp/imdb"),
    "20news": Source(("train", "test"), archive="https://ndownloader.figshare.com"),
    "agnews": Source(("train", "test"), hub="sh0416/ag_news"),
    "babi": Source(("train", "test"), hub="facebook/babi_qa", file="**/qa1_*_{}.txt"),
    "snli": Source(("train", "dev", "test"), hub="stanfordnlp/snli", file="snli_1.0_{}.jsonl"),
    "cnn-qa": Source(
        ("train", "dev", "test"),
        archive="https://cs.nyu.edu/~kcho/DMQA",
        file="{}.txt",
        instead=tuple(f"questions/{split}/*.question" for split in ("training", "validation", "test")),
    ),
    "conll2000": Source(("train", "test"), hub="eriktks/conll2000"),
}
"""By the value of ``DATA``."""


@dataclass(frozen=True)
class Fingerprint:
    """What a split holds, by content: files that differ in compression or layout alone have equal ones."""

    rows: int
    ordered: str
    """SHA-256, 16 hex digits, over the instances in their order."""
    unordered: str
    """The same over the instances sorted."""

    @classmethod
    def of(cls, table: pa.Table) -> "Fingerprint":
        """Hash every row of a table, all columns."""
        columns = [column.to_pylist() for column in table.columns]
        digests = [_digest(row) for row in zip(*columns, strict=True)]
        return cls(table.num_rows, _combined(digests), _combined(sorted(digests)))

    def difference(self, known: "Fingerprint") -> str | None:
        """How this split differs from the known one, in words; None where it does not."""
        if self.ordered == known.ordered:
            return None
        if self.unordered == known.unordered:
            return f"the known {known.rows:,} instances in another order, so splits cut at random differ"
        if self.rows != known.rows:
            return f"{self.rows:,} instances instead of {known.rows:,}"
        return f"{self.rows:,} instances as expected, but not all of the same content"


def _digest(row: tuple[object, ...]) -> bytes:
    return hashlib.sha256(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()


def _combined(digests: list[bytes]) -> str:
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]
