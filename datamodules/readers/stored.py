"""What readers of corpora in files share: columns in, content compared with known counts, words out, kept on disk."""

from abc import abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from attest.datamodules.cache import prepared
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.fingerprint import Fingerprint
from attest.datamodules.readers.base import CorpusReader
from attest.datamodules.sentences import tokenise_sentences
from attest.datamodules.sources import compare
from attest.datamodules.tokenisers import Tokeniser
from attest.errors import AttestError

Tables = dict[str, pa.Table]


class Originals(NamedTuple):
    """Texts as they stand in their source, before any recipe."""

    texts: list[Any]
    """Strings, in tagging lists of words."""
    labels: list[Any]
    """The name of each class, in tagging lists of names."""


class StoredReader(CorpusReader):
    """A corpus read from files; a subclass says how (``tables``) and what is made of it (``prepare``).

    Args:
        options: as in ``CorpusReader``.
    """

    folder: ClassVar[str]
    """Folder of the corpus below ``ATTEST_DATA``."""
    names: tuple[str, ...] = ()
    """Of the classes, or of the tags, by number."""
    known: ClassVar[dict[str, Fingerprint]] = {}
    """Content of each split from which the published counts are reproduced."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    @abstractmethod
    def tables(self) -> Tables:
        """The splits as their source has them, one row an instance."""

    @abstractmethod
    def prepare(self, tables: Tables) -> Corpus:
        """Tokenise, split and filter; depends on ``tables`` and ``settings`` alone."""

    def labelled(self, table: pa.Table) -> pa.Table:
        """``id``, ``text`` and ``label`` of all that a split of the source has for the task, whatever the recipe."""
        raise NotImplementedError(f"{type(self).__name__} must say what its texts and labels are: define labelled.")

    def originals(self, split: str) -> Originals:
        """A split of the source itself, for models with a tokenizer of their own.

        Args:
            split: ``train``, ``validation`` or ``test``.
        Raises:
            AttestError: the source has no such split.
        """
        tables = self.tables()
        if split not in tables:
            raise AttestError(f"{self.folder} has no {split} split in its source; expected one of {', '.join(tables)}.")
        table = self.labelled(tables[split])
        pairs = zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)
        texts, labels = zip(*((text, label) for text, label in pairs if text), strict=True)
        return Originals(list(texts), [self._named(label) for label in labels])

    def _named(self, label: Any) -> Any:
        return [self.names[each] for each in label] if isinstance(label, list) else self.names[label]

    def settings(self) -> dict[str, Any]:
        """All that ``prepare`` depends on beside the content; what is kept on disk is found again by it."""
        return {
            "sentences": self.sentences,
            "min_df": self.min_df,
            "max_words": self.max_words,
            "spacy": version("spacy"),
        }

    def tokenising(self) -> dict[str, Any]:
        return {"spacy": version("spacy")}

    def read(self) -> Corpus:
        """Read the source, say where it differs from the known one, and prepare it or find it prepared."""
        tables = self.tables()
        fingerprints = {split: Fingerprint.of(table) for split, table in tables.items()}
        for split, fingerprint in fingerprints.items():
            compare(self.folder, split, fingerprint, self.known.get(split))
        content = {split: fingerprint.ordered for split, fingerprint in fingerprints.items()}
        settings = self.settings() | {"class": self._prepared_by, "content": content}
        return prepared(self.folder, settings, lambda: self.prepare(tables))

    @property
    def _prepared_by(self) -> str:
        """A reader and the DataModule of its corpus find what the other has prepared; a class of one's own does not."""
        return type(self).__name__.removesuffix("Reader").removesuffix("DataModule")

    def words_of(self, texts: Sequence[str]) -> Documents:
        return self.documents(range(len(texts)), pa.array(texts, pa.string()), self.tokenise, None)

    def documents(self, ids: Any, texts: pa.Array, tokeniser: Tokeniser, labels: Any) -> Documents:
        """Tokenised texts, cut into sentences where that is asked for; the tokens are the same."""
        if not self.sentences:
            return Documents.of(ids, tokeniser(texts), label=labels)
        tokens, sentences = tokenise_sentences(texts, tokeniser)
        return Documents.of(ids, tokens, label=labels, sentences=sentences)


def split_at_random(
    rows: np.ndarray, share: float, seed: int, labels: Sequence[int] | np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Part rows in two by scikit-learn's ``train_test_split``, as the papers' code does.

    Args:
        rows: int64 ``(N,)``.
        share: of the second part, rounded up to whole rows.
        seed: ``random_state``.
        labels: ``(N,)``, to keep the classes' shares in both parts; None for no stratification.
    """
    from sklearn.model_selection import train_test_split  # a second that corpora with splits of their own need not wait for

    first, second = train_test_split(rows, test_size=share, random_state=seed, stratify=labels)
    return first, second


def between(documents: Documents, shortest: int, longest: int | None = None) -> Documents:
    """Texts longer than ``shortest`` and shorter than ``longest`` tokens, or than the longest of these documents."""
    lengths = documents.lengths
    return documents.where((lengths > shortest) & (lengths < (longest or lengths.max())))
