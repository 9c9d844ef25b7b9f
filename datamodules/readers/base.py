"""What all readers share: from the texts of a source to a corpus."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from attest.datamodules.corpus import SPLITS, TOKENS, Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.overlap import told
from attest.datamodules.sampling import SPACED, Sampling, missing
from attest.datamodules.sentences import sentence_lengths
from attest.datamodules.subwords import corpus_in_subwords, in_subwords
from attest.datamodules.vocabulary import Vocabulary
from attest.errors import AttestError
from attest.pretrained.needed import needing_transformers

if TYPE_CHECKING:
    from attest.pretrained.subwords import Subwords


class CorpusReader:
    """A corpus as text, without batches; subclasses say in ``read`` where its texts come from.

    Args:
        seed, sentences, min_df, max_words, max_tokens, texts, subwords, max_subwords: as in ``TextDataModule``.
    """

    sampling: Sampling = "keyed"
    """How ``texts`` of a split are chosen."""

    def __init__(
        self,
        seed: int = 0,
        sentences: bool = False,
        min_df: int | None = None,
        max_words: int | None = None,
        max_tokens: int | None = None,
        texts: int | None = None,
        subwords: str | None = None,
        max_subwords: int | None = None,
    ) -> None:
        super().__init__()
        self.seed = seed
        self.sentences = sentences
        self.min_df = min_df
        self.max_words = max_words
        self.max_tokens = max_tokens
        self.texts = texts
        self.subwords = subwords
        self.max_subwords = max_subwords

    def read(self) -> Corpus:
        """Read, tokenise and split the corpus."""
        raise NotImplementedError(f"{type(self).__name__} must say where its texts come from: define read.")

    def tokenise(self, texts: pa.Array) -> pa.Array:
        """The words of raw texts, strings ``(N,)`` -> lists of strings ``(N,)``, as those of the corpus were told apart."""
        return pa.array([text.split() for text in texts.to_pylist()], TOKENS)

    def documents_of(self, texts: Sequence[str]) -> Documents:
        """Texts from anywhere as the corpus has them, without labels; ids count them from 0."""
        documents = self.words_of(texts)
        return documents if self.subwords is None else in_subwords(documents, self._cutter)

    def words_of(self, texts: Sequence[str]) -> Documents:
        """The same as words, whatever the model reads."""
        tokens = self.tokenise(pa.array(texts, pa.string()))
        sentences = [list(sentence_lengths(words)) for words in tokens.to_pylist()] if self.sentences else None
        return Documents.of(range(len(texts)), tokens, sentences=sentences)

    def fit_vocabulary(self, texts: Any, min_df: int = 1) -> Vocabulary:
        """The vocabulary of tokenised texts; ``min_df`` is what the corpus calls for, and the user's choice overrides it."""
        return Vocabulary.fit(texts, self.min_df or min_df, self.max_words)

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, read when first asked for."""
        self.require_sensible()
        corpus = self.read()
        if self.max_tokens is not None:
            corpus = self._within_max_tokens(corpus, self.max_tokens)
        if self.texts is not None:
            corpus = self._thinned(corpus, self.texts)
        corpus.require_texts(type(self).__name__)
        for split in SPLITS[1:]:
            if unread := corpus.unread(split):
                say(f"{unread:,} of the {corpus.sizes[split]:,} texts of the {split} split have no word of the vocabulary.")
        for sentence in told(corpus.copies, corpus.sizes):
            say(sentence)
        return corpus if self.subwords is None else corpus_in_subwords(corpus, self._cutter)

    @cached_property
    def _cutter(self) -> "Subwords":
        """What cuts words into subwords."""
        if self.sentences:
            raise AttestError(
                "data.init_args.subwords splits whole texts; expected sentences: false. Leave one of the two out."
            )
        with needing_transformers():
            from attest.pretrained.subwords import Subwords  # seconds that words need not wait for

            return Subwords(str(self.subwords), self.max_subwords)

    def require_sensible(self) -> None:
        """Refuse numbers that make no sense.

        Raises:
            AttestError: one is too small.
        """
        self._require("min_df", "max_words", "max_tokens", "texts", least=1)

    def _require(self, *names: str, least: int) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and value < least:
                command = f"--data.init_args.{name}=<number>"
                raise AttestError(f"{name} is {value}; expected a whole number from {least}. Type {command}")

    def _within_max_tokens(self, corpus: Corpus, longest: int) -> Corpus:
        kept = corpus.where_length(longest)
        left_out = {split: len(getattr(corpus, split)) - len(getattr(kept, split)) for split in SPLITS}
        counts = ", ".join(f"{count} of {len(getattr(corpus, split))} {split}" for split, count in left_out.items())
        say(f"max_tokens={longest} leaves out {counts} texts.")
        return kept

    def _thinned(self, corpus: Corpus, texts: int) -> Corpus:
        cut = corpus.thinned(texts, self.sampling)
        if self.sampling == "spaced":
            say(SPACED.format(texts=texts))
        for split in SPLITS:
            whole, part = getattr(corpus, split), getattr(cut, split)
            lacking = missing(whole.classes, part.classes, f"the {split} split", corpus.label_names)
            if lacking:
                say(f"texts={texts}: {lacking}")
        return cut

    def tokenising(self) -> dict[str, Any]:
        """All that decides, beside the class, how a raw text becomes words; plain values, which ``restore`` takes back."""
        return {}

    def split_sources(self) -> dict[str, str]:
        """Where each split comes from, as far as that is a file."""
        return {}
