"""The corpus as tokenised text; every source is turned into this form before it is encoded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError
from attest.datamodules.notice import shortened, some
from attest.datamodules.vocabulary import Vocabulary

KEY = 20261125


def sample(ids: np.ndarray, labels: pa.Array, most: int) -> np.ndarray:
    """Return the sorted rows of a random sample of texts; it contains every class if ``most`` allows this.

    Args:
        ids: int64 ``(N,)``, from 0. The texts whose ids have the smallest hashes are chosen: a sample contains every smaller
            sample, and the order of the file does not matter.
        labels: ``(N,)``, the class of each text, or the list of its tags.
    """
    keys = np.random.PCG64(KEY).random_raw(ids.max(initial=0) + 1)[ids]
    rows = pc.list_parent_indices(labels).to_numpy() if pa.types.is_list(labels.type) else None
    classes = flat_labels(labels).dictionary_encode().indices.to_numpy()
    order = np.argsort(keys if rows is None else keys[rows], kind="stable")
    first = order[np.unique(classes[order], return_index=True)[1]]
    others = np.ones(len(ids), dtype=bool)
    others[first if rows is None else rows[first]] = False
    del order, classes  # of millions of rows
    return np.sort(np.lexsort((keys, others))[:most])


def missing(labels: pa.Array, chosen: pa.Array, where: str, names: Sequence[str] | None = None) -> str | None:
    """Return a sentence that names the classes that a sample lacks; None if it contains every class."""
    lacking = sorted({*flat_labels(labels).unique().to_pylist()} - {*flat_labels(chosen).unique().to_pylist()})
    if not lacking:
        return None
    shown = some([shortened(str(each if names is None else names[each])) for each in lacking])
    return f"None of the {len(chosen):,} texts drawn from the {len(labels):,} in {where} is of the class {shown}."


def flat_labels(labels: pa.Array) -> pa.Array:
    """Return the class of every text, or the tags of all texts in one flat array."""
    return pc.list_flatten(labels) if pa.types.is_list(labels.type) else labels


SPLITS = ("train", "validation", "test")
TOKENS = pa.list_(pa.string())
NO_TOKENS_SHOWN = 5
NO_WORD = -1
"""The index that special tokens and padding have where other tokens have the index of the word that they belong to."""


@dataclass(frozen=True)
class Documents:
    """The tokenised texts of a split, in an Arrow table with one row for each text.

    Columns: ``id`` int64, row of the text in its source; a result is joined to the source by it, even after filtering;
             ``tokens`` list of strings;
             ``label`` int64, class from 0, in classification; ``tags`` list of int64, one per token, in tagging;
             ``rationale`` list of bool, True at the tokens that decide the label, if the corpus knows them;
             ``word`` list of int64, with subwords: the position of the word to which a token belongs, -1 for special tokens;
             ``sentences`` list of int64, number of tokens in each sentence, if documents are split into sentences;
             ``question`` list of strings, not empty, if each text has a question (or a hypothesis);
             ``candidates`` list of int64, not empty, the possible classes of a text, if texts differ in them.
    """

    table: pa.Table

    @classmethod
    def of(cls, ids: Any, tokens: Any, **columns: Any) -> "Documents":
        """Return documents made from Arrow arrays, NumPy arrays or nested lists; columns that are None are left out."""
        given = {name: values for name, values in columns.items() if values is not None}
        tokens = tokens if isinstance(tokens, pa.Array | pa.ChunkedArray) else pa.array(tokens, TOKENS)
        return cls(pa.table({"id": pa.array(ids, pa.int64()), "tokens": tokens, **given}))

    def __len__(self) -> int:
        return self.table.num_rows

    @property
    def ids(self) -> np.ndarray:
        """Return the ids of the texts, int64 ``(N,)``."""
        return self.table["id"].to_numpy()

    @property
    def tokens(self) -> list[list[str]]:
        """Return the words of every text as Python lists; only for tests and small corpora."""
        return self.table["tokens"].to_pylist()

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of tokens in each text, int64 ``(N,)``."""
        return pc.list_value_length(self.table["tokens"]).to_numpy().astype(np.int64)

    @property
    def labels(self) -> np.ndarray | None:
        """Return the class of each text, int64 ``(N,)``; None if the texts have tags."""
        return self.table["label"].to_numpy() if self.has("label") else None

    @property
    def classes(self) -> pa.Array:
        """Return the class, or the list of tags, of each text, ``(N,)``."""
        return self.table["label" if self.has("label") else "tags"].combine_chunks()

    @property
    def as_read(self) -> pa.Array:
        """Return each text with its question as one lower-case string, for finding copies of texts."""
        parts = [pc.binary_join(self.table[name].combine_chunks(), " ") for name in ("tokens", "question") if self.has(name)]
        return pc.utf8_lower(pc.binary_join_element_wise(*parts, "\0"))

    def words_of(self, row: int) -> list[str]:
        return self.table["tokens"][row].as_py()

    def has(self, column: str) -> bool:
        return column in self.table.column_names

    def flat(self, column: str) -> pa.Array:
        """Return all values of a list column as one flat array."""
        return pc.list_flatten(self.table[column].combine_chunks())

    def take(self, rows: Sequence[int] | np.ndarray) -> "Documents":
        """Return the texts in the given rows of the table, in the given order."""
        return Documents(self.table.take(pa.array(rows, pa.int64())))

    def where(self, keep: np.ndarray) -> "Documents":
        """Return the documents for which ``keep``, bool ``(N,)``, is True; their ids do not change."""
        return Documents(self.table.filter(pa.array(keep)))


@dataclass(frozen=True)
class Corpus:
    """The three splits of a corpus, and the vocabulary of its training texts."""

    train: Documents
    validation: Documents
    test: Documents
    vocabulary: Vocabulary
    label_names: tuple[str, ...]
    """The names of the classes, or of the tags of a tagging corpus; the index is the number of the class or tag."""

    @property
    def splits(self) -> dict[str, Documents]:
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @cached_property
    def copies(self) -> dict[str, int]:
        """Return how many texts of a split also occur in an earlier split, under keys such as ``test in train``."""
        texts = {split: documents.as_read for split, documents in self.splits.items()}
        pairs = combinations(SPLITS, 2)
        counts = {f"{later} in {earlier}": pc.sum(pc.is_in(texts[later], texts[earlier])).as_py() for earlier, later in pairs}
        return {pair: count for pair, count in counts.items() if count}

    def unread(self, split: str) -> int:
        """Return the number of texts of a split that contain no word of the vocabulary."""
        tokens = self.splits[split].table["tokens"].combine_chunks()
        known = pc.is_in(pc.list_flatten(tokens), value_set=pa.array(self.vocabulary.words, pa.string()))
        return len(tokens) - pc.count_distinct(pc.list_parent_indices(tokens).filter(known)).as_py()

    @property
    def sizes(self) -> dict[str, int]:
        return {split: len(documents) for split, documents in self.splits.items()}

    def with_each(self, change: Callable[[Documents], Documents]) -> "Corpus":
        """Apply a function to each split and return the new corpus; the vocabulary does not change."""
        return replace(self, train=change(self.train), validation=change(self.validation), test=change(self.test))

    def require_texts(self, name: str) -> "Corpus":
        """Refuse a corpus that has an empty split, a text without tokens, or only one class."""
        for split, documents in self.splits.items():
            empty = documents.ids[documents.lengths == 0].tolist()
            if not len(documents):
                raise AttestError(f"{name}: the {split} split has no texts; expected at least one text. Check the source.")
            if empty:
                raise AttestError(
                    f"{name}: the {split} split contains texts without a token (count: {len(empty)}, rows: "
                    f"{empty[:NO_TOKENS_SHOWN]}); expected at least one token in each text. Remove these rows from the source."
                )
        if self.train.labels is not None and len(np.unique(self.train.labels)) < 2:
            raise AttestError(
                f"{name}: all {len(self.train)} texts of the train split are of one class; expected at least two classes. "
                "Give texts of another class, or a larger max_tokens."
            )
        return self


def told(copied: Mapping[str, int], texts: Mapping[str, int], units: str = "texts") -> list[str]:
    """Return sentences that say how many texts of a split also occur in an earlier split.

    Args:
        units: what the texts are called, as in ``Kind.units``.
    """
    return [
        f"{count:,} of the {texts[later]:,} {units} of the {later} split {'is' if count == 1 else 'are'} also in the "
        f"{earlier} split, so scores on them do not show what the model makes of new {units}."
        for pair, count in copied.items()
        for later, _, earlier in [pair.split()]
    ]
