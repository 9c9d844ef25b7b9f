"""The record of a model's data: vocabulary, classes and the fingerprints of the splits.

A run keeps the record in its folder (``data.json``) and in its checkpoints. Later commands read new texts by the record and
refuse data that have changed.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from attest.core.errors import AttestError
from attest.datamodules.corpus import SPLITS, Documents
from attest.datamodules.vocabulary import Vocabulary

PREPROCESSING = 1
"""The version of the code that turns texts into tokens. It increases when the same text gets other tokens than before."""


@dataclass(frozen=True)
class DataRecord:
    """A record of the data of a trained model, as plain values: vocabulary, classes, counts and fingerprints.

    Args:
        words: the words of the vocabulary, in id order.
        label_names: the names of the classes, or of the tags, by number.
        positive_weight: number of negative training texts divided by that of positive ones.
        tokenising: the settings that decide how a raw text becomes words, from the DataModule.
        counts: number of texts in each split.
        fingerprints: SHA-256 of each split's content, as ``fingerprint_of`` gives it.
        sources: the source of each split, if it is known.
        files: SHA-256 of those sources that are files; it shows cheaply whether a file has changed.
        preprocessing: the version of the code that tokenised the texts.
        copies: number of texts of a split that an earlier split contains, too, by keys such as ``test in train``; records
            from before 2026-11-25 do not have this field.
        sampling: how the samples for ``texts`` and validation were drawn: ``keyed``, by a hash of the ids. Records from
            before 2026-11-25 do not have this field; their samples were drawn at equal distances.
    """

    words: tuple[str, ...]
    label_names: tuple[str, ...]
    positive_weight: float
    tokenising: dict[str, Any]
    counts: dict[str, int]
    fingerprints: dict[str, str]
    sources: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    preprocessing: int = PREPROCESSING
    copies: dict[str, int] = field(default_factory=dict)
    sampling: str = "keyed"

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> "DataRecord":
        """Return the record from the plain values that ``plain`` returned."""
        lists = {name: tuple(values[name]) for name in ("words", "label_names")}
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        return cls(**{**known, **lists})

    def plain(self) -> dict[str, Any]:
        """Return the record as dictionaries, lists, strings and numbers, for JSON and safely loaded checkpoints."""
        return asdict(self) | {"words": list(self.words), "label_names": list(self.label_names)}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary: the words with their ids."""
        return Vocabulary(self.words)

    def touched(self) -> list[str]:
        """Return the splits whose files have changed since training; a missing file does not count."""
        known = {split: Path(self.sources[split]) for split in self.files}
        return [split for split, file in known.items() if file.is_file() and digest_of(file) != self.files[split]]

    def require(self, found: "DataRecord", whose: str) -> None:
        """Raise an ``AttestError`` if the data differ from the data on which a model was trained and tested."""
        differing = [split for split in SPLITS if self.fingerprints[split] != found.fingerprints[split]]
        if not differing and (self.words, self.label_names) == (found.words, found.label_names):
            return
        what = "; ".join(self._difference(split, found) for split in differing) or "the vocabulary is different"
        raise AttestError(
            f"the data differ from those of {whose}: {what}; expected the same texts and labels. Put the old "
            "data back, or train on the new data with FORCE=1; keep both runs with --run.root=<another folder>."
        )

    def _difference(self, split: str, found: "DataRecord") -> str:
        source = found.sources.get(split)
        then, now = self.counts[split], found.counts[split]
        how = f"{now:,} texts as before, but some texts or labels differ"
        if now != then:
            how = f"{now:,} texts instead of {then:,}"
        return f"the {split} split{f' ({source})' if source else ''} has {how}"


def fingerprint_of(documents: Documents) -> str:
    """Return the SHA-256 hash of all columns of a split; the hash is the same on every machine."""
    digest = hashlib.sha256()
    for name in sorted(documents.table.column_names):
        digest.update(f"{name}:{len(documents)}:".encode())
        values = documents.table[name].combine_chunks()
        if name in ("id", "label"):
            digest.update(_integers(values))
            continue
        digest.update(_integers(pc.list_value_length(values)))
        flat = pc.list_flatten(values)
        digest.update(_words(flat) if name in ("tokens", "question") else _integers(flat))
    return digest.hexdigest()


def _integers(values: Any) -> bytes:
    return np.ascontiguousarray(values.to_numpy(zero_copy_only=False), dtype="<i8").tobytes()


def _words(flat: Any) -> bytes:
    """Encode words as bytes: the sorted list of distinct words, then the index of each word in this list."""
    encoded = flat.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    order = sorted(range(len(words)), key=words.__getitem__)
    ranks = np.empty(len(words), "<i8")
    ranks[order] = np.arange(len(words))
    listed = b"".join(len(word).to_bytes(8, "little") + word for word in (words[i].encode() for i in order))
    return listed + ranks[encoded.indices.to_numpy(zero_copy_only=False)].tobytes()


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@dataclass(frozen=True)
class Expected:
    """A data record with which the current data must agree, and the name of the run that it belongs to."""

    record: DataRecord
    whose: str


EXPECTED: ContextVar[Expected | None] = ContextVar("expected data", default=None)


@contextmanager
def expecting(record: DataRecord | None, whose: str) -> Iterator[None]:
    """Require that the data of every DataModule made inside the ``with`` block agree with a record."""
    token = EXPECTED.set(None if record is None else Expected(record, whose))
    try:
        yield
    finally:
        EXPECTED.reset(token)
