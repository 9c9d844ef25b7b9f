"""Where the real corpora come from: the folder named by ATTEST_DATA, else the public source of the same instances."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from attest.datamodules.fingerprint import Fingerprint
from attest.datamodules.notice import say
from attest.errors import AttestError

DATA_VARIABLE = "ATTEST_DATA"


def load_split(name: str, split: str, columns: tuple[str, ...], public: Callable[[str], pa.Table]) -> pa.Table:
    """Load one split of a corpus, from the local folder if there is one.

    Args:
        name: folder of the corpus below ``ATTEST_DATA``, holding ``<split>.parquet``.
        split: ``train``, ``validation`` or ``test``.
        columns: what to return, in this order.
        public: loads the same columns of a split from the public source.
    Raises:
        AttestError: the folder lacks the file, the file lacks a column, or the public source is out of reach.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return require_columns(public(split), columns, f"the public source of {name}")
    path = Path(folder).expanduser() / name / f"{split}.parquet"
    return require_columns(_from_folder(path), columns, str(path))


def _from_folder(path: Path) -> pa.Table:
    if not path.is_file():
        raise AttestError(
            f"{DATA_VARIABLE} names a folder without {path.parent.name}/{path.name} (looked for {path}); expected the corpus "
            f"as parquet there. Point {DATA_VARIABLE} at the folder that holds {path.parent.name}/, or unset it to load from "
            "the public source."
        )
    return read_parquet(path)


def read_parquet(path: Path) -> pa.Table:
    """A parquet file.

    Raises:
        AttestError: it is none, or broken.
    """
    try:
        return pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise AttestError(f"{path} cannot be read as parquet ({reason}); expected a complete file. Copy it again.") from error


def require_columns(table: pa.Table, columns: tuple[str, ...], where: str) -> pa.Table:
    """These columns of a table, in this order.

    Raises:
        AttestError: it lacks one.
    """
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise AttestError(
            f"{where} has the columns {', '.join(table.column_names)}; expected also {', '.join(missing)}. "
            f"Give a file with the columns {', '.join(columns)}."
        )
    return table.select(columns).replace_schema_metadata(None)


def compare(name: str, split: str, found: Fingerprint, known: Fingerprint | None) -> None:
    """Say in a sentence how a split differs from the one whose counts are published; silent where it does not."""
    difference = found.difference(known) if known else None
    if difference:
        source = f"the folder in {DATA_VARIABLE}" if os.environ.get(DATA_VARIABLE) else "the public source"
        say(
            f"{name}: the {split} split of {source} holds {difference}; the counts and scores of this run may differ from "
            "the published ones."
        )


def out_of_reach(what: str, where: str) -> AttestError:
    """The error for a corpus that is neither on this machine nor within reach of the network.

    Args:
        what: the corpus.
        where: its public source.
    """
    return AttestError(
        f"{what} is not on this machine, and {where} cannot be reached; expected a network or a local copy. Put its files in "
        f"a folder, as docs/data.md says, and type: export {DATA_VARIABLE}=<that folder>; or train without any download: make "
        "train DATA=planted"
    )
