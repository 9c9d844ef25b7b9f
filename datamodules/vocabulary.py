"""The words a model knows, and the one symbol for those it does not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

PADDING = 0
UNKNOWN = 1
SPECIALS = ("<pad>", "<unk>")
BOUNDARIES = 2
"""<SOS> and <EOS>: counted in the vocabulary sizes that papers publish, but learned vectors of the encoder here."""


class Vocabulary:
    """Maps words to token ids; padding is 0 and every unseen word is 1.

    Args:
        words: known words in id order, from id 2; all different.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: index for index, word in enumerate(self.words, start=len(SPECIALS))}

    @classmethod
    def fit(cls, texts: Iterable[Sequence[str]], min_df: int = 1) -> "Vocabulary":
        """Keep the words that occur in at least ``min_df`` texts, in alphabetical order."""
        documents = Counter(chain.from_iterable(set(tokens) for tokens in texts))
        return cls(sorted(word for word, count in documents.items() if count >= min_df))

    def __len__(self) -> int:
        return len(self.words) + len(SPECIALS)

    @property
    def published_size(self) -> int:
        """|V| as the papers count it: with padding, unknown, <SOS> and <EOS>."""
        return len(self) + BOUNDARIES

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Token ids, unseen words as ``UNKNOWN``."""
        return [self._ids.get(token, UNKNOWN) for token in tokens]
