"""Are these the instances that were counted? Content hashes, and a sentence if they differ."""

import hashlib
import json
from dataclasses import dataclass

import pyarrow as pa


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
