"""The cache of prepared corpora on disk. Content and settings identify a corpus; one process prepares it and writes it
completely.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock

from attest.core.memory import CACHE_VARIABLE, cache_folder
from attest.datamodules.corpus import SPLITS, Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.vocabulary import Vocabulary

UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError)


def prepared(name: str, settings: dict[str, Any], prepare: Callable[[], Corpus]) -> Corpus:
    """Return a corpus from the cache in the folder that ``ATTEST_CACHE`` names; prepare it first if it is missing.

    Processes that start at once wait for the first of them. Without a writable folder the corpus is prepared anew each time.

    Args:
        settings: all that the result depends on, the content of the sources included; the code of this package is added.
    """
    folder = cache_folder() / "corpora"
    path = folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{_key(settings)}.arrow"
    with _one_at_a_time(path):
        return _read(path) or _kept(path, prepare())


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Wait for any other process that prepares this file; do not wait if no lock can be written."""
    with ExitStack() as stack:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(f"{path}.lock"))
        yield


def _key(settings: dict[str, Any]) -> str:
    code = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py")))).hexdigest()
    return hashlib.sha256(json.dumps(settings | {"code": code}, sort_keys=True).encode()).hexdigest()[:16]


def _read(path: Path) -> Corpus | None:
    """Return the corpus of a file, mapped into memory; None if the file is missing or broken."""
    if not path.is_file():
        return None
    try:
        return _unpacked(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
    except UNREADABLE as error:
        say(f"{path} cannot be read ({str(error).splitlines()[0]}); it is made again.")
        return None


def _kept(path: Path, corpus: Corpus) -> Corpus:
    """Write a corpus to a file and return what is read from there, as later runs will; if it cannot be written, the corpus."""
    try:
        _write(path, _packed(corpus))
    except OSError as error:
        say(
            f"Prepared corpora cannot be kept in {path.parent} ({error.strerror}), so this one is prepared again each time. "
            f"Name a writable folder with free space: {CACHE_VARIABLE}=<folder>."
        )
    return _read(path) or corpus


def _write(path: Path, table: pa.Table) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as sink:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            sink.flush()
            os.fsync(sink.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _packed(corpus: Corpus) -> pa.Table:
    """Return a corpus as one table: the splits one after another, everything else in the metadata."""
    about = {
        "rows": [*corpus.sizes.values()],
        "words": corpus.vocabulary.words,
        "label_names": corpus.label_names,
    }
    table = pa.concat_tables([documents.table for documents in corpus.splits.values()])
    return table.combine_chunks().replace_schema_metadata({"corpus": json.dumps(about)})  # one batch maps without a copy


def _unpacked(table: pa.Table) -> Corpus:
    about = json.loads(table.schema.metadata[b"corpus"])
    table = table.replace_schema_metadata(None)
    starts = [sum(about["rows"][:index]) for index in range(len(SPLITS))]
    splits = {
        split: Documents(table.slice(start, rows)) for split, start, rows in zip(SPLITS, starts, about["rows"], strict=True)
    }
    return Corpus(**splits, vocabulary=Vocabulary(about["words"]), label_names=tuple(about["label_names"]))
