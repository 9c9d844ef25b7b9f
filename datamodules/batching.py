"""Batches: formed once, globally, by length; dealt whole to the ranks; resumable in the middle of an epoch.

A batch's composition decides its padding and so its arithmetic. Batches are therefore a function of the corpus and the
seed alone, and ranks only choose which of them they see.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.utils.data import DataLoader

from attest.datamodules.encoded import Batch, EncodedDocuments

MOST_PADDING = 0.05
"""Largest share of padding among the tokens of all batches over sorted texts."""
LIMITS = (1.0, 0.5, 0.4, 0.3, 0.2, 0.1, MOST_PADDING)
"""Largest share within one batch, tried from the loosest; the last cannot but keep the whole below ``MOST_PADDING``."""
JITTER = 0.05
"""Lengths are jittered by up to so much of themselves. Jain & Wallace's tenth pads 9 % of IMDb and 12 % of 20 Newsgroups."""


def batch_sizes(lengths: np.ndarray, batch_size: int) -> list[int]:
    """Choose how many texts each batch takes, shortest first: full batches, unless too much would be padding.

    A corpus with few texts of each length has batches that end early, the longest texts' above all.

    Args:
        lengths: int64 ``(N,)``, tokens in each text, in any order.
        batch_size: largest batch.
    """
    ordered = np.sort(lengths)
    for limit in LIMITS:
        sizes = _cut(ordered.tolist(), batch_size, limit)
        if padding_share(ordered, _consecutive(np.arange(len(ordered)), sizes)) <= MOST_PADDING:
            break
    return sizes


def _cut(ordered: list[int], batch_size: int, limit: float) -> list[int]:
    """Return sizes of batches that are full or would pad more than ``limit`` of their tokens with one text more."""
    sizes: list[int] = []
    size, tokens = 0, 0
    for length in ordered:
        if size == batch_size or (size + 1) * length * (1 - limit) > tokens + length:
            sizes.append(size)
            size, tokens = 0, 0
        size, tokens = size + 1, tokens + length
    return [*sizes, size] if size else sizes


def padding_share(lengths: np.ndarray, batches: list[list[int]]) -> float:
    """Compute the share of padding among all tokens of these batches, in [0, 1)."""
    padded = sum(lengths[rows].max() * len(rows) for rows in batches)
    return float(1 - sum(lengths[rows].sum() for rows in batches) / padded) if padded else 0.0


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[list[int]]:
    """Form evaluation batches: all rows once, shortest first, at most a twentieth of their tokens padding."""
    return _consecutive(np.argsort(lengths, kind="stable"), batch_sizes(lengths, batch_size))


def shuffled_batches(lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[list[int]]:
    """Form the training batches of an epoch: all rows once, in an order that ``(seed, epoch)`` fixes.

    Lengths are jittered before sorting, as Jain & Wallace do, and whole batches are shuffled: texts of like length meet in a
    batch, never the same ones twice.
    """
    generator = np.random.default_rng([seed, epoch])
    jittered = lengths * generator.uniform(1 - JITTER, 1 + JITTER, size=len(lengths))
    batches = _consecutive(np.argsort(jittered, kind="stable"), batch_sizes(lengths, batch_size))
    return [batches[index] for index in generator.permutation(len(batches))]


def _consecutive(order: np.ndarray, sizes: list[int]) -> list[list[int]]:
    return [rows.tolist() for rows in np.split(order, np.cumsum(sizes)[:-1])] if sizes else []


def deal(batches: list[list[int]], rank: int, ranks: int, *, equally: bool) -> list[list[int]]:
    """Return the batches of one rank: every ``ranks``-th, whole; a rank for which none is left gets one empty batch.

    A rank without any batch would leave evaluation early, and the others would wait for it.

    Args:
        equally: training needs as many steps on every rank, so the first batches of the epoch are dealt a second time until
            they come out even; evaluation needs each instance exactly once, so some ranks get one batch fewer.
    """
    if equally and 0 < len(batches) < ranks:
        batches = batches * math.ceil(ranks / len(batches))
    if equally and len(batches) % ranks:
        batches = batches + batches[: ranks - len(batches) % ranks]
    return batches[rank::ranks] or [[]]


def fair_places(count: int, rank: int, ranks: int) -> list[int]:
    """Return places of one rank's batches among all, shortest texts first, so that no rank has all the longer ones.

    They are dealt in rounds, of which every second, counted from the longest texts, goes the other way round.

    Args:
        count: batches of all ranks.
        rank, ranks: this rank, and how many there are.
    """
    rounds = [
        range(max(0, end - ranks), end)[:: -1 if number % 2 else 1] for number, end in enumerate(range(count, 0, -ranks))
    ]
    return [place for each in reversed(rounds) for place in each][rank::ranks]


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a split, which jobs that know nothing of each other can evaluate.

    Its batches are whole ones of the split, every ``shards``-th, so that all shards have texts of all lengths and every text
    meets the same neighbours as in an evaluation of the whole.

    Args:
        number: from 0.
        shards: how many there are.
    """

    number: int = 0
    shards: int = 1

    def place(self, rank: int, ranks: int) -> tuple[int, int]:
        """Return where a process of this shard stands among those of all shards, and how many these are."""
        return self.number + self.shards * rank, self.shards * ranks


WHOLE = Shard()
"""The only part."""


class BatchLoader(DataLoader):
    """A loader over batches that are computed when an epoch begins and can be entered in the middle.

    Lightning stores ``state_dict`` in every checkpoint and gives it back on resume.

    Args:
        dataset: the encoded texts.
        batches: gives this rank's batches of the epoch that is about to begin.
        num_workers: processes that assemble batches; 0 does it in this one.
        batch_size: of the largest batch, where that is known; not all are as large.
        batches_of_all_ranks: how many there are in an epoch, over all ranks; None for as many as this rank has.
        places: of this rank's batches among these; None where they were dealt in turn.
        dealt: this rank and the number of ranks that batches were dealt to, where these are not the Trainer's.
    """

    def __init__(
        self,
        dataset: EncodedDocuments,
        batches: Callable[[], list[list[int]]],
        num_workers: int = 0,
        batch_size: int | None = None,
        batches_of_all_ranks: int | None = None,
        places: list[int] | None = None,
        dealt: tuple[int, int] | None = None,
    ) -> None:
        self._batches = _BatchSampler(batches, batch_size)
        self.batches_of_all_ranks = batches_of_all_ranks
        self.places = places
        self.dealt = dealt
        self._delivered = 0
        super().__init__(dataset, batch_sampler=self._batches, collate_fn=_keep, num_workers=num_workers)

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]  # torch names a private class where an iterator does
        self._batches.skip = self._delivered % len(self)  # all delivered: the checkpoint was taken between two epochs
        self._delivered = self._batches.skip
        for batch in super().__iter__():
            self._delivered += 1
            yield batch
        self._delivered = 0

    def state_dict(self) -> dict[str, int]:
        """Return how many batches of the running epoch have been handed out."""
        return {"delivered": self._delivered}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Begin the next epoch after as many batches."""
        self._delivered = state["delivered"]


class _BatchSampler:
    """A sampler of lists of rows; the first ``skip`` of them are left out once."""

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
