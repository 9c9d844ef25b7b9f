"""What readers of corpora in files share: columns in, content compared with known counts, words out, kept on disk.

What all readers share: from the texts of a source to a corpus.

What corpora with a question, or a hypothesis, beside each text share.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError, needing_transformers
from attest.datamodules.cache import prepared
from attest.datamodules.catalogue import Fingerprint
from attest.datamodules.corpus import SPACED, SPLITS, TOKENS, Corpus, Documents, Sampling, missing, told
from attest.datamodules.encoded import corpus_in_subwords, in_subwords
from attest.datamodules.notice import say
from attest.datamodules.sources import DATA_VARIABLE, compare
from attest.datamodules.tokenisers import Tokeniser, sentence_lengths, tokenise_sentences
from attest.datamodules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from attest.models.pretrained.subwords import Subwords


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
            from attest.models.pretrained.subwords import Subwords  # seconds that words need not wait for

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


class QuestionReader(StoredReader):
    """Passages with a question and an answer each; attention is over the passage, the question is its query.

    Raises:  AttestError: texts are to be read as sentences or in subwords, or come without questions.

    Args:
        options: as in ``CorpusReader``.
    """

    has_questions = True
    """Only networks that declare ``reads_questions`` learn from it."""

    def read(self) -> Corpus:
        if self.sentences or self.subwords is not None:
            name = "sentences" if self.sentences else "subwords"
            raise AttestError(
                f"{self.folder} has a question beside each text, and data.init_args.{name} reads texts alone; expected "
                "another corpus for it. Leave it out, or type DATA=sst."
            )
        return super().read()

    def fit_words(self, documents: Documents, min_df: int = 1) -> Vocabulary:
        """The vocabulary of passages and questions, each a text of its own, as in Jain & Wallace's code."""
        texts = [documents.table[column].combine_chunks() for column in ("tokens", "question")]
        return self.fit_vocabulary(pa.concat_arrays(texts), min_df)

    def words_of(self, texts: Sequence[str]) -> Documents:
        raise AttestError(
            f"a text alone has no question, and a model of {self.folder} needs one; expected a run on texts alone. The report "
            "shows this run's own test texts with their questions: type attest report --run <run folder>"
        )

    def originals(self, split: str) -> Originals:
        raise AttestError(
            f"{self.folder} has a question beside each text, which no tokenizer of another model reads here; expected a "
            "corpus of texts alone. Type --data sst."
        )


def published_file(corpus: str, *patterns: str) -> Path | None:
    """A file of a corpus as it is published, below ``ATTEST_DATA``; None where that is not set.

    Args:
        corpus: its folder there.
        patterns: where the file may lie, the first that matches first; the likeliest one is named where none does.
    Raises:
        AttestError: none is there.
    """
    data = os.environ.get(DATA_VARIABLE)
    if not data:
        return None
    folder = Path(data).expanduser() / corpus
    found = [file for pattern in patterns for file in sorted(folder.glob(pattern))]
    if not found:
        raise AttestError(
            f"{DATA_VARIABLE} names a folder without {corpus}/{patterns[0]} (looked in {folder}); expected the files of "
            f"{corpus} as published. Put them there, or unset {DATA_VARIABLE}; or try stories made on the spot: type "
            "DATA=babi-generated"
        )
    return found[0]


def classes(answers: Any, names: Sequence[str], where: str) -> pa.Array:
    """The numbers of answers, int64.

    Args:
        answers: strings, an Arrow array.
        names: the answers that there are, by number.
        where: the split, for messages.
    Raises:
        AttestError: an answer is none of them.
    """
    chunk = answers.combine_chunks() if isinstance(answers, pa.ChunkedArray) else answers
    numbers = pc.index_in(chunk, value_set=pa.array(names, pa.string())).cast(pa.int64())
    if numbers.null_count:
        unknown = pc.unique(chunk.filter(numbers.is_null())).to_pylist()
        raise AttestError(
            f"{where} has the answers {', '.join(map(str, unknown[:5]))}; expected those that training knows: "
            f"{', '.join(names[:12])}. Correct these rows, or add such an answer to the training split."
        )
    return numbers
