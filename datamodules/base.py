"""The base class of all DataModules, which reads a corpus, encodes its splits and distributes batches to the processes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from pytorch_lightning import LightningDataModule, Trainer
from torch import Tensor

from attest.core.errors import AttestError, needing_transformers
from attest.datamodules.batching import BatchLoader, batches_by_length, deal, shuffled_batches
from attest.datamodules.corpus import SPLITS, TOKENS, Corpus, Documents, missing, sample, told
from attest.datamodules.encoded import EncodedDocuments, EncodedQuestions, EncodedSentences, in_subwords, read_erased
from attest.datamodules.notice import say
from attest.datamodules.record import EXPECTED, DataRecord, digest_of, fingerprint_of
from attest.datamodules.tokenisers import sentence_lengths
from attest.datamodules.vocabulary import Vocabulary
from attest.datamodules.word_vectors import Unseen, WordVectors, vectors_of

if TYPE_CHECKING:
    from attest.models.pretrained.subwords import Subwords


class TextDataModule(LightningDataModule):
    """A corpus with one label for each text or one tag for each token; a subclass defines ``read``.

    Batch:   ``id`` int64 (B,), row of the text in its source; ``token_ids`` int64 (B, T) in [0, vocab_size), 0 is padding;
             ``mask`` bool (B, T), True at real tokens; in classification, ``label`` int64 (B,) in [0, num_classes); in
             tagging, ``tags`` int64 (B, T) in [0, num_classes), -100 at padding; if the corpus knows them, ``rationale`` bool
             (B, T), True at the tokens that decide the label; with ``subwords``, ``word`` int64 (B, T), the position of the
             word to which the token belongs, -1 for special tokens and padding.
             With questions, each row ends with the question, after the text and its padding. T is then the longest text plus
             the longest question. ``mask`` is False at questions. If passages name their possible answers, these answers come
             before the question; the id of each is vocab_size plus its class.
             With ``sentences``, the shape (B, T) above becomes (B, S, T), and ``sentence_mask`` bool (B, S) is True at real
             sentences, each of which has at least one real token.
    Units:   T is the number of tokens in the longest text of the batch. With ``sentences``, S is the largest number of
             sentences in a text of the batch, and T the number of tokens in the longest sentence, at most 50: longer sentences
             are cut.
    Order:   training batches are reshuffled every epoch by (seed, epoch); evaluation batches are sorted by length, with
             ``sentences`` by the number of sentences and then by the longest sentence.

    Args:
        batch_size: largest B; the last batch may be smaller, and so are batches that would otherwise have too much padding.
        seed: seed of the order of training batches, and of a generated corpus that has no seed of its own.
        num_workers: number of processes that assemble batches; 0 for the training process itself.
        sentences: whether documents are split into sentences, by rules, for hierarchical networks.
        min_df: least number of training texts that contain a word of the vocabulary; None for the corpus's own number.
        max_words: largest number of words in the vocabulary; the words in most texts are kept. None for all.
        max_tokens: largest number of tokens in a text; longer texts are left out and counted. None for no limit.
        texts: largest number of texts in a split, a random sample that no seed changes; the vocabulary is still that of all
            texts. None for all.
        erased: path of a table that ``attest roar`` wrote, with the tokens to mask in every split; None for no masking.
        subwords: folder or Hub id of a pretrained model. Words are cut into its subwords, special tokens are put around each
            text, and the vocabulary is the model's own. None for words.
        max_subwords: largest number of subwords in a text; the rest of a longer text is cut off. None for the model's limit.
        embeddings: pretrained vectors to start from, published ones (``WordVectors``) or a file (fastText, GloVe or word2vec
            as text); None for none. ``EMBEDDINGS=glove-50`` names one.
        unseen: how the vectors of words without a pretrained vector are initialised.
    """

    texts_are_public: ClassVar[bool] = False
    """Whether the texts of the corpus are published. Texts of other corpora are sent to a logger such as W&B only if the user
    asks for it."""
    has_questions: ClassVar[bool] = False
    """Whether each text has a question; then only networks that declare ``reads_questions`` can be trained on the corpus."""
    has_candidates: ClassVar[bool] = False
    """Whether each text has its own list of possible answers; its answer is one of them, and not one of all classes."""

    def __init__(
        self,
        batch_size: int = 32,
        seed: int = 0,
        num_workers: int = 0,
        sentences: bool = False,
        min_df: int | None = None,
        max_words: int | None = None,
        max_tokens: int | None = None,
        embeddings: str | dict[str, Any] | None = None,
        unseen: Unseen = "zeros",
        texts: int | None = None,
        erased: str | None = None,
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
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.embeddings = embeddings
        self.unseen: Unseen = unseen
        self.erased = erased
        self.part: Sequence[int] | None = None
        """The ids of the test texts that the next test reads, put into batches of their own; None to read all test texts."""
        self.expected = EXPECTED.get()
        """What is recorded of the data that a trained model was trained on. These data must agree with it. None if there is no
        trained model yet."""

    def read(self) -> Corpus:
        """Read the corpus, tokenise its texts and split them."""
        raise NotImplementedError(f"{type(self).__name__} must say where its texts come from: define read.")

    def tokenise(self, texts: pa.Array) -> pa.Array:
        """Cut raw texts into words by the rules of the corpus, strings ``(N,)`` -> lists of strings ``(N,)``."""
        return pa.array([text.split() for text in texts.to_pylist()], TOKENS)

    def documents_of(self, texts: Sequence[str]) -> Documents:
        """Tokenise new texts by the rules of the corpus; return them without labels, with ids from 0 on."""
        documents = self.words_of(texts)
        return documents if self.subwords is None else in_subwords(documents, self._cutter)

    def words_of(self, texts: Sequence[str]) -> Documents:
        """Split new texts into words, even if the model reads subwords; return them as documents."""
        tokens = self.tokenise(pa.array(texts, pa.string()))
        sentences = [list(sentence_lengths(words)) for words in tokens.to_pylist()] if self.sentences else None
        return Documents.of(range(len(texts)), tokens, sentences=sentences)

    def fit_vocabulary(self, texts: Any, min_df: int = 1) -> Vocabulary:
        """Build the vocabulary of tokenised texts; the user's option ``min_df`` replaces the argument."""
        return Vocabulary.fit(texts, self.min_df or min_df, self.max_words)

    @cached_property
    def corpus(self) -> Corpus:
        """Read the corpus at the first access and return it."""
        bounded = {
            "batch_size": self.batch_size,
            "min_df": self.min_df,
            "max_words": self.max_words,
            "max_tokens": self.max_tokens,
            "texts": self.texts,
            "num_workers": self.num_workers,
        }
        for name, value in bounded.items():
            least = 0 if name == "num_workers" else 1
            if value is not None and value < least:
                command = f"--data.init_args.{name}=<number>"
                raise AttestError(f"`{name}` is {value}; expected a whole number from {least}. Type {command}")
        corpus = self.read()
        if self.max_tokens is not None:
            whole, longest = corpus, self.max_tokens
            corpus = whole.with_each(lambda documents: documents.where(documents.lengths <= longest))
            counts = ", ".join(f"{size - corpus.sizes[split]} of {size} {split}" for split, size in whole.sizes.items())
            say(f"max_tokens={longest} leaves out {counts} texts.")
        if self.texts is not None:
            corpus = self._thinned(corpus, self.texts)
        corpus.require_texts(type(self).__name__)
        units = "sentences" if corpus.train.has("tags") else "texts"
        for split in SPLITS[1:]:
            if unread := corpus.unread(split):
                of = f"{unread:,} of the {corpus.sizes[split]:,} {units} of the {split} split"
                say(f"{of} {'has' if unread == 1 else 'have'} no word of the vocabulary.")
        for sentence in told(corpus.copies, corpus.sizes, units):
            say(sentence)
        if self.subwords is None:
            return corpus
        cut = corpus.with_each(lambda documents: in_subwords(documents, self._cutter, corpus.label_names))
        return replace(cut, vocabulary=Vocabulary(self._cutter.vocabulary))

    @cached_property
    def _cutter(self) -> "Subwords":
        if self.sentences:
            raise AttestError(
                "data.init_args.subwords works only on whole texts, not on sentences; expected sentences: false. Leave out "
                "`subwords` or `sentences`."
            )
        with needing_transformers():
            from attest.models.pretrained.subwords import Subwords  # seconds that words need not wait for

            return Subwords(str(self.subwords), self.max_subwords)

    def _thinned(self, corpus: Corpus, texts: int) -> Corpus:
        cut = corpus.with_each(lambda documents: documents.take(sample(documents.ids, documents.classes, texts)))
        for split, part in cut.splits.items():
            whole = corpus.splits[split]
            if lacking := missing(whole.classes, part.classes, f"the {split} split", corpus.label_names):
                say(f"texts={texts}: {lacking}")
        return cut

    def tokenising(self) -> dict[str, Any]:
        """Return all settings that influence how raw texts become words, as plain values."""
        return {}

    def split_sources(self) -> dict[str, str]:
        """Return the file or Hub dataset of each split of the user's own data; empty for all other corpora."""
        return {}

    def encode(self, documents: Documents) -> EncodedDocuments:
        """Map texts to token ids; all unknown words get one id."""
        if documents.has("question"):
            return EncodedQuestions(documents, self.vocabulary)
        encoded = EncodedSentences if self.sentences else EncodedDocuments
        return encoded(documents, self.vocabulary)

    @cached_property
    def pretrained_embeddings(self) -> Tensor | None:
        """Return the pretrained vector of each token id, float32 ``(vocab_size, E)``; None if no ``embeddings`` are named."""
        if self.embeddings is None:
            return None
        source = self.embeddings if isinstance(self.embeddings, str) else WordVectors.of(self.embeddings)
        return vectors_of(source, self.vocabulary, self.unseen, self.seed)

    @cached_property
    def record(self) -> DataRecord:
        """Return the record of the trained model's data, or of the current data if there is no trained model."""
        return self.found if self.expected is None else self.expected.record

    @cached_property
    def found(self) -> DataRecord:
        """Compute a record that identifies the current data: vocabulary, classes, counts and fingerprints."""
        corpus = self.corpus
        tokenising = self.tokenising()  # known once texts are read
        if self.subwords is not None:
            tokenising |= {"subwords": self.subwords, "max_subwords": self._cutter.longest}
        labels, positive_weight = corpus.train.labels, 1.0
        if labels is not None and len(corpus.label_names) == 2:
            positive_weight = float((len(labels) - labels.sum()) / labels.sum())
        sources = self.split_sources()
        return DataRecord(
            words=corpus.vocabulary.words,
            label_names=tuple(corpus.label_names),
            positive_weight=positive_weight,
            tokenising=tokenising,
            counts=corpus.sizes,
            fingerprints={split: fingerprint_of(documents) for split, documents in corpus.splits.items()},
            sources=sources,
            files={split: digest_of(Path(source)) for split, source in sources.items() if Path(source).is_file()},
            copies=corpus.copies,
        )

    def require_expected(self) -> None:
        """Raise an ``AttestError`` if the data differ from the data of the trained model, or cannot be read."""
        if self.expected is not None:
            self.expected.record.require(self.found, self.expected.whose)

    def state_dict(self) -> dict[str, Any]:
        """Return the vocabulary, classes and hashes of the corpus, which Lightning stores in the checkpoint."""
        return self.record.plain()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raise an ``AttestError`` if the model of the checkpoint was trained on other data."""
        DataRecord.from_plain(state_dict).require(self.found, "the model of this checkpoint")

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the model."""
        return self.record.vocabulary

    @property
    def label_names(self) -> tuple[str, ...]:
        """Return the names of the classes (or tags), in the order of their numbers."""
        return self.record.label_names

    @property
    def vocab_size(self) -> int:
        """Return the number of token ids, including padding and the unknown word."""
        return len(self.vocabulary)

    @property
    def num_classes(self) -> int:
        """Return K, the number of classes, or of different tags."""
        return len(self.label_names)

    @property
    def positive_weight(self) -> float:
        """Return the ratio of negative to positive training texts; 1 if the task is not binary."""
        return self.record.positive_weight

    @cached_property
    def train(self) -> EncodedDocuments:
        return self._encoded("train")

    @cached_property
    def validation(self) -> EncodedDocuments:
        return self._encoded("validation")

    @cached_property
    def test(self) -> EncodedDocuments:
        return self._encoded("test")

    def _encoded(self, split: str) -> EncodedDocuments:
        encoded = self.encode(self.corpus.splits[split])
        return encoded if self.erased is None else encoded.without(read_erased(Path(self.erased), split))

    def train_dataloader(self) -> BatchLoader:
        """Return the training batches of this process for the current epoch; all processes get equally many batches."""

        def batches() -> list[list[int]]:
            epoch = self._running.current_epoch
            return deal(shuffled_batches(self.train.sizes, self.batch_size, self.seed, epoch), *self._ranks, equally=True)

        return BatchLoader(self.train, batches, self.num_workers, pin_memory=self._on_gpu)

    def val_dataloader(self) -> BatchLoader:
        """Return the validation batches of this process; each instance is in exactly one process."""
        return self._evaluation_loader(self.validation)

    def test_dataloader(self) -> BatchLoader:
        """Return the test batches of this process; each instance is in exactly one process."""
        return self._evaluation_loader(self.test, self.part)

    def _evaluation_loader(self, dataset: EncodedDocuments, part: Sequence[int] | None = None) -> BatchLoader:
        rows = np.arange(len(dataset)) if part is None else np.flatnonzero(np.isin(dataset.ids, part))
        everyone = [rows[batch].tolist() for batch in batches_by_length(dataset.sizes[rows], self.batch_size)]
        batches = deal(everyone, *self._ranks, equally=False)
        return BatchLoader(dataset, lambda: batches, self.num_workers, self.batch_size, len(everyone), self._on_gpu)

    @property
    def _ranks(self) -> tuple[int, int]:
        return self._running.global_rank, self._running.world_size

    @property
    def _on_gpu(self) -> bool:
        return self._running.strategy.root_device.type == "cuda"

    @property
    def _running(self) -> Trainer:
        assert self.trainer is not None, "batches are dealt to the ranks of a Trainer, so they exist only within one"
        return self.trainer
