"""Batches: formed once, globally, by length; dealt whole to the ranks; resumable in the middle of an epoch.

A batch's composition decides its padding and so its arithmetic. Batches are therefore a function of the corpus and the
seed alone, and ranks only choose which of them they see.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from datamodules.corpus import Documents
from datamodules.vocabulary import PADDING, Vocabulary

Batch = dict[str, Tensor]


class EncodedDocuments(Dataset):
    """Texts as token ids, stored flat, fetched a batch at a time.

    Args:
        documents: tokenised texts.
        vocabulary: gives the token ids.
    """

    def __init__(self, documents: Documents, vocabulary: Vocabulary) -> None:
        self.documents = documents
        self.lengths = np.array([len(tokens) for tokens in documents.tokens])
        self._starts = torch.from_numpy(self.lengths.cumsum() - self.lengths)
        self._token_ids = torch.tensor([i for tokens in documents.tokens for i in vocabulary.encode(tokens)])
        self._ids, self._labels = torch.tensor(documents.ids), torch.tensor(documents.labels)
        rationales = documents.rationales
        self._rationale = None if rationales is None else torch.tensor([bit for bits in rationales for bit in bits])
        self._row_of = {identity: row for row, identity in enumerate(documents.ids)}

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitems__(self, rows: list[int]) -> Batch:
        """One padded batch; see ``TextDataModule`` for its keys."""
        index = torch.tensor(rows, dtype=torch.int64)
        lengths = torch.from_numpy(self.lengths[rows])
        position = torch.arange(int(lengths.max()) if rows else 0)
        mask = position < lengths.unsqueeze(-1)
        source = (self._starts[index].unsqueeze(-1) + position).where(mask, 0)
        batch = {
            "id": self._ids[index],
            "token_ids": self._token_ids[source].where(mask, PADDING),
            "mask": mask,
            "label": self._labels[index],
        }
        if self._rationale is not None:
            batch["rationale"] = self._rationale[source] & mask
        return batch

    def tokens_of(self, identity: int) -> list[str]:
        """The words of the text with this id, as they stood before unseen ones became one symbol."""
        return self.documents.tokens[self._row_of[identity]]


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[list[int]]:
    """Evaluation batches: all rows once, shortest first, so that neighbours need little padding."""
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + batch_size].tolist() for start in range(0, len(order), batch_size)]


def shuffled_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """Training batches of one epoch: all rows once, in an order that ``(seed, epoch)`` fixes.

    Lengths are jittered by up to a tenth before sorting, as Jain & Wallace do, and whole batches are shuffled: texts of
    like length meet in a batch, never the same ones twice.
    """
    generator = np.random.default_rng([seed, epoch])
    jittered = lengths * generator.uniform(0.9, 1.1, size=len(lengths))
    order = np.argsort(jittered, kind="stable")
    batches = [order[start : start + batch_size].tolist() for start in range(0, len(order), batch_size)]
    return [batches[index] for index in generator.permutation(len(batches))]


def deal(batches: list[list[int]], rank: int, ranks: int, *, equally: bool) -> list[list[int]]:
    """The batches of one rank: every ``ranks``-th, whole; a rank for which none is left gets one empty batch.

    A rank without any batch would leave evaluation early, and the others would wait for it.

    Args:
        equally: training needs as many steps on every rank, so the first batches of the epoch are dealt a second time until
            they come out even; evaluation needs each instance exactly once, so some ranks get one batch fewer.
    """
    if equally and len(batches) % ranks:
        batches = batches + batches[: ranks - len(batches) % ranks]
    return batches[rank::ranks] or [[]]


class BatchLoader(DataLoader):
    """A loader over batches that are computed when an epoch begins and can be entered in the middle.

    Lightning stores ``state_dict`` in every checkpoint and gives it back on resume.

    Args:
        dataset: the encoded texts.
        batches: gives this rank's batches of the epoch that is about to begin.
        num_workers: processes that assemble batches; 0 does it in this one.
    """

    def __init__(self, dataset: EncodedDocuments, batches: Callable[[], list[list[int]]], num_workers: int = 0) -> None:
        self._batches = _BatchSampler(batches)
        self._delivered = 0
        super().__init__(dataset, batch_sampler=self._batches, collate_fn=_keep, num_workers=num_workers)

    def __iter__(self) -> Iterator[Batch]:
        self._batches.skip = self._delivered % len(self)  # all delivered: the checkpoint was taken between two epochs
        self._delivered = self._batches.skip
        for batch in super().__iter__():
            self._delivered += 1
            yield batch
        self._delivered = 0

    def state_dict(self) -> dict[str, int]:
        """How many batches of the running epoch have been handed out."""
        return {"delivered": self._delivered}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Begin the next epoch after as many batches."""
        self._delivered = state["delivered"]


class _BatchSampler:
    """Yields lists of rows, the first ``skip`` of them left out once."""

    def __init__(self, batches: Callable[[], list[list[int]]]) -> None:
        self._batches = batches
        self.skip = 0

    def __len__(self) -> int:
        return len(self._batches())

    def __iter__(self) -> Iterator[list[int]]:
        skip, self.skip = self.skip, 0
        yield from self._batches()[skip:]


def _keep(batch: Batch) -> Batch:
    return batch
