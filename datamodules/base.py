"""What all DataModules share: the batch, the encoded splits, the dealing to ranks."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pytorch_lightning import LightningDataModule, Trainer
from torch import Tensor

from attest.datamodules.batching import (
    WHOLE,
    BatchLoader,
    Shard,
    batch_sizes,
    batches_by_length,
    deal,
    fair_places,
    shuffled_batches,
)
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.encoded import EncodedDocuments, EncodedQuestions, EncodedSentences, read_erased
from attest.datamodules.reading import CorpusReader
from attest.datamodules.record import EXPECTED, DataRecord
from attest.datamodules.vocabulary import Vocabulary
from attest.datamodules.word_vectors import Unseen, WordVectors, vectors_of


class TextDataModule(CorpusReader, LightningDataModule):
    """Texts with one label each, or one tag a token; subclasses say in ``read`` where they come from.

    Batch:   ``id`` int64 (B,), row of the text in its source; ``token_ids`` int64 (B, T) in [0, vocab_size), 0 is padding;
             ``mask`` bool (B, T), True at real tokens; ``label`` int64 (B,) in [0, num_classes), in classification; in
             tagging instead ``tags`` int64 (B, T) in [0, num_classes), -100 at padding; where the corpus knows them,
             ``rationale`` bool (B, T), True at the tokens that decide the label; with ``subwords``, ``word`` int64 (B, T), the
             place of the word that each is of, -1 for special tokens and padding.
             With questions, T is that of the longest text plus that of the longest question, which stands behind text and
             padding, ends with the row and is no real token: ``mask`` is False there. Where passages name the answers that are
             possible, these stand before the question, each as vocab_size plus its class.
             With ``sentences``, (B, S, T) stands wherever (B, T) does above, and ``sentence_mask`` bool (B, S) is True at
             real sentences, each of which has at least one real token.
    Units:   T is the longest text of the batch in tokens; with ``sentences``, S is the most sentences that a text of the
             batch has and T the longest of its sentences in tokens, at most 50: longer sentences are cut.
    Order:   training batches are reshuffled every epoch by (seed, epoch); evaluation batches are sorted by length, with
             ``sentences`` by number of sentences and then by the longest of them.

    Args:
        batch_size: largest B; a batch is smaller where full ones would hold too much padding, and at the end.
        seed: fixes the order of training batches, and the corpus where it is generated.
        num_workers: processes that assemble batches; 0 does it in the training process.
        sentences: documents as sentences, split by rule, for hierarchical networks.
        min_df: least number of training texts with a word that the vocabulary keeps; None for what the corpus calls for.
        max_words: most words that the vocabulary keeps, those of most texts; None for all.
        max_tokens: longer texts are left out, and counted; None for none.
        texts: most texts of a split, a random sample that no seed changes, the vocabulary staying that of all; None for all.
        erased: table of the tokens that are masked in every split, as ``attest roar`` writes it; None for none.
        subwords: folder or Hub id of a pretrained model, into whose subwords words are cut, special tokens put around each
            text; the vocabulary is then the model's own. None for words.
        max_subwords: ends of texts with more are cut; None for as many as the model reads.
        embeddings: pretrained vectors to start from, published ones (``WordVectors``) or a file (fastText, GloVe or word2vec
            as text); None for none. ``EMBEDDINGS=glove-50`` names one.
        unseen: how words without a vector start.
    """

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
        super().__init__(
            seed=seed,
            sentences=sentences,
            min_df=min_df,
            max_words=max_words,
            max_tokens=max_tokens,
            texts=texts,
            subwords=subwords,
            max_subwords=max_subwords,
        )
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.embeddings = embeddings
        self.unseen: Unseen = unseen
        self.erased = erased
        self.shard = WHOLE
        """Which part of the test split is gone through; all of it if not set."""
        self.part: Sequence[int] | None = None
        """Ids of the test texts that are gone through, in batches of their own; all of the shard if not set."""
        self.expected = EXPECTED.get()
        """What the data has to be, where a trained model was made from it."""
        if self.expected is not None:
            self.sampling = self.expected.record.sampling

    def encode(self, documents: Documents) -> EncodedDocuments:
        """Texts as the model reads them, unseen words as one symbol."""
        if documents.has("question"):
            return EncodedQuestions(documents, self.vocabulary)
        encoded = EncodedSentences if self.sentences else EncodedDocuments
        return encoded(documents, self.vocabulary)

    def require_sensible(self) -> None:
        self._require("batch_size", least=1)
        super().require_sensible()
        self._require("num_workers", least=0)

    @cached_property
    def pretrained_embeddings(self) -> Tensor | None:
        """The vectors of ``embeddings`` by token id, float32 ``(vocab_size, E)``; or None."""
        if self.embeddings is None:
            return None
        source = self.embeddings if isinstance(self.embeddings, str) else WordVectors.of(self.embeddings)
        return vectors_of(source, self.vocabulary, self.unseen, self.seed)

    @cached_property
    def record(self) -> DataRecord:
        """What a model must know of this data: that of the trained model where there is one, without reading the data."""
        return self.found if self.expected is None else self.expected.record

    @cached_property
    def found(self) -> DataRecord:
        """The record of the data as it is now."""
        return self._recorded(self.corpus)

    def require_expected(self) -> None:
        """Refuse data that is not what the trained model at hand was made from.

        Raises:
            AttestError: it is not, or it cannot be read.
        """
        if self.expected is not None:
            self.expected.record.require(self.found, self.expected.whose)

    def _recorded(self, corpus: Corpus) -> DataRecord:
        tokenising = self.tokenising() | self._cutting
        return DataRecord.of(corpus, _positive_weight(corpus), tokenising, self.split_sources(), self.sampling)

    @property
    def _cutting(self) -> dict[str, Any]:
        return {} if self.subwords is None else {"subwords": self.subwords, "max_subwords": self._cutter.longest}

    def state_dict(self) -> dict[str, Any]:
        """The record, for the checkpoint."""
        return self.record.plain()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Refuse a checkpoint of a model that was made from other data.

        Raises:
            AttestError: it was.
        """
        if state_dict:  # checkpoints of earlier versions hold none
            DataRecord.from_plain(state_dict).require(self.found, "the model of this checkpoint")

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that the model knows."""
        return self.record.vocabulary

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes, or of the tags, by number."""
        return self.record.label_names

    @property
    def vocab_size(self) -> int:
        """Number of token ids, padding and unknown included."""
        return len(self.vocabulary)

    @property
    def num_classes(self) -> int:
        """K, number of classes, or of different tags."""
        return len(self.label_names)

    @property
    def positive_weight(self) -> float:
        """Negative over positive training texts: what balances the two classes of a binary task; 1 for any other task."""
        return self.record.positive_weight

    @cached_property
    def train(self) -> EncodedDocuments:
        """The encoded training split."""
        return self._encoded("train")

    @cached_property
    def validation(self) -> EncodedDocuments:
        """The encoded validation split."""
        return self._encoded("validation")

    @cached_property
    def test(self) -> EncodedDocuments:
        """The encoded test split."""
        return self._encoded("test")

    def _encoded(self, split: str) -> EncodedDocuments:
        encoded = self.encode(getattr(self.corpus, split))
        return encoded if self.erased is None else encoded.without(read_erased(Path(self.erased), split))

    def train_dataloader(self) -> BatchLoader:
        """Batches of the running epoch for this rank; as many on every rank."""

        def batches() -> list[list[int]]:
            epoch = self._running.current_epoch
            return deal(shuffled_batches(self.train.sizes, self.batch_size, self.seed, epoch), *self._ranks, equally=True)

        return BatchLoader(self.train, batches, self.num_workers)

    def val_dataloader(self) -> BatchLoader:
        """Validation batches for this rank, each instance on exactly one rank."""
        return self._evaluation_loader(self.validation)

    def test_dataloader(self) -> BatchLoader:
        """Test batches of the shard, or of the part, for this rank, each instance on exactly one rank."""
        return self._evaluation_loader(self.test, self.shard, self.part)

    @property
    def validation_batches(self) -> int:
        """Validation batches over all ranks; more than full ones would be where texts differ much in length."""
        return len(batch_sizes(self.validation.sizes, self.batch_size))

    @property
    def test_batches(self) -> int:
        """Test batches over all ranks."""
        return len(batch_sizes(self.test.sizes, self.batch_size))

    def _evaluation_loader(
        self, dataset: EncodedDocuments, shard: Shard = WHOLE, part: Sequence[int] | None = None
    ) -> BatchLoader:
        rows = np.arange(len(dataset)) if part is None else np.flatnonzero(np.isin(dataset.ids, part))
        everyone = [rows[batch].tolist() for batch in batches_by_length(dataset.sizes[rows], self.batch_size)]
        if shard == WHOLE:
            places = fair_places(len(everyone), *self._ranks)
            batches = [everyone[place] for place in places] or [[]]  # as ``deal`` has it
            places = places or [len(everyone)]
            return BatchLoader(dataset, lambda: batches, self.num_workers, self.batch_size, len(everyone), places)
        dealt = shard.place(*self._ranks)  # in turn: which batches a shard has depends on no number of processes
        batches = deal(everyone, *dealt, equally=False)
        return BatchLoader(dataset, lambda: batches, self.num_workers, self.batch_size, len(everyone), dealt=dealt)

    @property
    def _ranks(self) -> tuple[int, int]:
        """This rank, and how many there are."""
        return self._running.global_rank, self._running.world_size

    @property
    def _running(self) -> Trainer:
        assert self.trainer is not None, "batches are dealt to the ranks of a Trainer, so they exist only within one"
        return self.trainer


def _positive_weight(corpus: Corpus) -> float:
    labels = corpus.train.labels
    if labels is None or len(corpus.label_names) != 2:
        return 1.0
    return float((len(labels) - labels.sum()) / labels.sum())
