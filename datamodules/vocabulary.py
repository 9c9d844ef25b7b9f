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
"""<SOS> and <EOS>: counted in the vocabulary sizes that papers publish, but learned vectors of the encoder here."""


class Vocabulary:
    """A map from words to token ids: 0 for padding, 1 for every unseen word, 2 and above for known words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.ids = {word: index for index, word in enumerate(self.words, start=len(SPECIALS))}
        """The token id of each word."""

    @classmethod
    def fit(cls, texts: Any, min_df: int = 1, max_words: int | None = None) -> "Vocabulary":
        """Build a vocabulary of the words in at least ``min_df`` texts; keep at most the ``max_words`` most frequent."""
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        texts = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.list_(pa.string()))
        encoded = pc.list_flatten(texts).dictionary_encode()
        words = encoded.dictionary.to_pylist()
        occurrences = pc.list_parent_indices(texts).to_numpy() * len(words) + encoded.indices.to_numpy()
        occurrences.sort()  # a quarter of np.unique's time, which hashes
        once_a_text = occurrences[np.diff(occurrences, prepend=-1) > 0]
        texts_with = np.bincount(once_a_text % max(len(words), 1), minlength=len(words))
        frequency = dict(zip(words, texts_with.tolist(), strict=True))
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
