"""The formation of batches from texts of similar length, and the distribution of whole batches to processes (ranks).

The texts of a batch decide its padding and so its arithmetic. Batches are therefore a function of the corpus and the seed
alone. An epoch can resume in the middle.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

from attest.datamodules.encoded import Batch, EncodedDocuments

MOST_PADDING = 0.05
"""If texts are put into batches in the order of their length, padding is at most this share of the tokens of all batches
together."""
LIMITS = (1.0, 0.5, 0.4, 0.3, 0.2, 0.1, MOST_PADDING)
"""Upper limits for the share of padding in a single batch. They are tried in this order, until padding over all batches is at
most ``MOST_PADDING``; with the last one it always is."""
JITTER = 0.05
"""Before training texts are sorted by length, each length is changed at random by at most this share of it, so that batches
differ from epoch to epoch. With a tenth, as in Jain & Wallace, padding would be 9 % of the tokens of IMDb and 12 % of those of
20 Newsgroups."""


def batch_sizes(lengths: np.ndarray, batch_size: int) -> list[int]:
    """Return the number of texts in each batch, shortest texts first; ``lengths`` of all texts are int64 ``(N,)``."""
    ordered = np.sort(lengths)
    for limit in LIMITS:
        sizes = _cut(ordered.tolist(), batch_size, limit)
        if padding_share(ordered, _consecutive(np.arange(len(ordered)), sizes)) <= MOST_PADDING:
            break
    return sizes


def _cut(ordered: list[int], batch_size: int, limit: float) -> list[int]:
    """Return batch sizes up to ``batch_size``; in each batch, at most the share ``limit`` is padding."""
    sizes: list[int] = []
    size, tokens = 0, 0
    for length in ordered:
        if size == batch_size or (size + 1) * length * (1 - limit) > tokens + length:
            sizes.append(size)
            size, tokens = 0, 0
        size, tokens = size + 1, tokens + length
    return [*sizes, size] if size else sizes


def padding_share(lengths: np.ndarray, batches: list[list[int]]) -> float:
    """Return the share of padding among all tokens of these batches, in [0, 1)."""
    padded = sum(lengths[rows].max() * len(rows) for rows in batches)
    return float(1 - sum(lengths[rows].sum() for rows in batches) / padded) if padded else 0.0


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[list[int]]:
    """Return evaluation batches: each row once, shortest texts first, with at most 1/20 of the tokens as padding."""
    return _consecutive(np.argsort(lengths, kind="stable"), batch_sizes(lengths, batch_size))


def shuffled_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """Return the training batches of an epoch: each row once, in an order that ``(seed, epoch)`` determines.

    Lengths are jittered before sorting, as Jain & Wallace do, and whole batches are shuffled: a batch has texts of similar
    length, and every epoch has other batches.
    """
    generator = np.random.default_rng([seed, epoch])
    jittered = lengths * generator.uniform(1 - JITTER, 1 + JITTER, size=len(lengths))
    batches = _consecutive(np.argsort(jittered, kind="stable"), batch_sizes(lengths, batch_size))
    return [batches[index] for index in generator.permutation(len(batches))]


def _consecutive(order: np.ndarray, sizes: list[int]) -> list[list[int]]:
    return [rows.tolist() for rows in np.split(order, np.cumsum(sizes)[:-1])] if sizes else []


def deal(batches: list[list[int]], rank: int, ranks: int, *, equally: bool) -> list[list[int]]:
    """Return the batches of process ``rank``; each process gets at least one.

    A rank without any batch would leave evaluation early, and the others would wait for it.

    Args:
        equally: True in training, where all ranks need the same number of steps: the first batches are dealt a second time.
            False in evaluation: some ranks get one batch fewer, and a rank for which none is left repeats the first batch,
            whose instances still count once.
    """
    if equally and 0 < len(batches) < ranks:
        batches = batches * math.ceil(ranks / len(batches))
    if equally and len(batches) % ranks:
        batches = batches + batches[: ranks - len(batches) % ranks]
    return batches[rank::ranks] or batches[:1]


class BatchLoader(DataLoader):
    """A loader that computes its batches when an epoch begins, and can resume in the middle of an epoch.

    Args:
        dataset: the encoded texts.
        batches: gives this rank's batches of the epoch that is about to begin.
        num_workers: processes that assemble batches; 0 does it in this one.
        batch_size: the size of the largest batch, if it is known; other batches may be smaller.
        batches_of_all_ranks: the number of batches in an epoch over all ranks; None for the number of this rank.
        pin_memory: whether batches lie in memory that a GPU copies from while the CPU goes on; only of use with a GPU.
    """

    dataset: EncodedDocuments

    def __init__(
        self,
        dataset: EncodedDocuments,
        batches: Callable[[], list[list[int]]],
        num_workers: int = 0,
        batch_size: int | None = None,
        batches_of_all_ranks: int | None = None,
        pin_memory: bool = False,
    ) -> None:
        self._batches = _BatchSampler(batches, batch_size)
        self.batches_of_all_ranks = batches_of_all_ranks
        self._delivered = 0
        own = self._batches
        super().__init__(dataset, batch_sampler=own, collate_fn=_keep, num_workers=num_workers, pin_memory=pin_memory)

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]  # torch names a private class where an iterator does
        self._batches.skip = self._delivered % len(self)  # all delivered: the checkpoint was taken between two epochs
        self._delivered = self._batches.skip
        for batch in super().__iter__():
            self._delivered += 1
            yield batch
        self._delivered = 0

    def state_dict(self) -> dict[str, int]:
        """Return the number of batches that the loader has delivered in the current epoch."""
        return {"delivered": self._delivered}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Skip the batches that ``state`` counts as delivered when the next epoch begins."""
        self._delivered = state["delivered"]


class _BatchSampler:
    def __init__(self, batches: Callable[[], list[list[int]]], batch_size: int | None) -> None:
        self._batches = batches
        self.batch_size = batch_size
        self.skip = 0

    def __len__(self) -> int:
        return len(self._batches())

    def __iter__(self) -> Iterator[list[int]]:
        skip, self.skip = self.skip, 0
        yield from self._batches()[skip:]


def _keep(batch: Any) -> Any:
    return batch
