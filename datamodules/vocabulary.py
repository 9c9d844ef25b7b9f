"""The vocabulary of a model: the words that it knows, and one symbol for all others."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PADDING = 0
UNKNOWN = 1
SPECIALS = ("<pad>", "<unk>")
BOUNDARIES = 2
"""The number of boundary tokens, <SOS> and <EOS>. Papers count them in the size of the vocabulary; here they have no token
ids, because the encoder has learned vectors for them."""


class Vocabulary:
    """A map from words to token ids: 0 for padding, 1 for every unseen word, 2 and above for known words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.ids = {word: index for index, word in enumerate(self.words, start=len(SPECIALS))}
        """The token id of each word. Ids of words begin after those of the special tokens, at 2."""

    @classmethod
    def fit(cls, texts: Any, min_df: int = 1, max_words: int | None = None) -> "Vocabulary":
        """Build a vocabulary of the words in at least ``min_df`` texts; keep at most the ``max_words`` most frequent."""
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        texts = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.list_(pa.string()))
        words = pa.table({"text": pc.list_parent_indices(texts), "word": pc.list_flatten(texts)})
        once_a_text = words.group_by(["text", "word"]).aggregate([])
        frequency = {each["values"]: each["counts"] for each in pc.value_counts(once_a_text["word"]).to_pylist()}
        known = sorted(word for word, count in frequency.items() if count >= min_df)
        if max_words is not None:
            known = sorted(sorted(known, key=lambda word: -frequency[word])[:max_words])
        return cls(known)

    def __len__(self) -> int:
        return len(self.words) + len(SPECIALS)

    @property
    def published_size(self) -> int:
        """Return the vocabulary size as papers count it: words, padding, unknown word, ``<SOS>`` and ``<EOS>``."""
        return len(self) + BOUNDARIES

    def knows(self, token: str) -> bool:
        return token in self.ids

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Return the token ids of words; an unseen word has the id ``UNKNOWN``."""
        return [self.ids.get(token, UNKNOWN) for token in tokens]

    def encode_all(self, tokens: pa.Array) -> np.ndarray:
        """Return the token ids of a whole split in one array, int64 ``(N,)``; an unseen word has the id ``UNKNOWN``."""
        found = pc.index_in(tokens, value_set=pa.array(self.words, pa.string()))
        return pc.fill_null(pc.add(found.cast(pa.int64()), len(SPECIALS)), UNKNOWN).to_numpy()
