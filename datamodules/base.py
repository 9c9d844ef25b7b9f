"""What all DataModules share: the batch, the splits, the dealing to ranks."""

from functools import cached_property

from pytorch_lightning import LightningDataModule

from datamodules.batching import BatchLoader, EncodedDocuments, batches_by_length, deal, shuffled_batches
from datamodules.corpus import Corpus


class TextDataModule(LightningDataModule):
    """Texts with one label each; subclasses say in ``read`` where they come from.

    Batch:   ``id`` int64 (B,), row of the text in its source; ``token_ids`` int64 (B, T) in [0, vocab_size), 0 is padding;
             ``mask`` bool (B, T), True at real tokens; ``label`` int64 (B,) in [0, num_classes); where the corpus knows
             them, ``rationale`` bool (B, T), True at the tokens that decide the label.
    Units:   T is the longest text of the batch in tokens.
    Order:   training batches are reshuffled every epoch by (seed, epoch); evaluation batches are sorted by length.

    Args:
        batch_size: B; the last batch of an epoch may be smaller.
        seed: fixes the order of training batches, and the corpus where it is generated or split.
        num_workers: processes that assemble batches; 0 does it in the training process.
    """

    def __init__(self, batch_size: int = 32, seed: int = 0, num_workers: int = 0) -> None:
        super().__init__()
        self.batch_size = batch_size
        self.seed = seed
        self.num_workers = num_workers

    def read(self) -> Corpus:
        """Read, tokenise and split the corpus."""
        raise NotImplementedError(f"{type(self).__name__} must say where its texts come from: define read.")

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, read when first asked for."""
        return self.read().require_texts(type(self).__name__)

    @property
    def vocab_size(self) -> int:
        """Number of token ids, padding and unknown included."""
        return len(self.corpus.vocabulary)

    @property
    def num_classes(self) -> int:
        """K, number of classes."""
        return len(self.corpus.label_names)

    @property
    def positive_weight(self) -> float:
        """Negative over positive training texts: what balances the two classes of a binary task; 1 for more classes."""
        labels = self.corpus.train.labels
        return (len(labels) - sum(labels)) / sum(labels) if self.num_classes == 2 else 1.0

    @cached_property
    def train(self) -> EncodedDocuments:
        """The encoded training split."""
        return EncodedDocuments(self.corpus.train, self.corpus.vocabulary)

    @cached_property
    def validation(self) -> EncodedDocuments:
        """The encoded validation split."""
        return EncodedDocuments(self.corpus.validation, self.corpus.vocabulary)

    @cached_property
    def test(self) -> EncodedDocuments:
        """The encoded test split."""
        return EncodedDocuments(self.corpus.test, self.corpus.vocabulary)

    def train_dataloader(self) -> BatchLoader:
        """Batches of the running epoch for this rank; as many on every rank."""

        def batches() -> list[list[int]]:
            epoch = self.trainer.current_epoch
            return self._deal(shuffled_batches(self.train.lengths, self.batch_size, self.seed, epoch), equally=True)

        return BatchLoader(self.train, batches, self.num_workers)

    def val_dataloader(self) -> BatchLoader:
        """Validation batches for this rank, each instance on exactly one rank."""
        return self._evaluation_loader(self.validation)

    def test_dataloader(self) -> BatchLoader:
        """Test batches for this rank, each instance on exactly one rank."""
        return self._evaluation_loader(self.test)

    def _evaluation_loader(self, dataset: EncodedDocuments) -> BatchLoader:
        batches = self._deal(batches_by_length(dataset.lengths, self.batch_size), equally=False)
        return BatchLoader(dataset, lambda: batches, self.num_workers)

    def _deal(self, batches: list[list[int]], *, equally: bool) -> list[list[int]]:
        return deal(batches, self.trainer.global_rank, self.trainer.world_size, equally=equally)
