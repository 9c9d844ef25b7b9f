"""Counts of inversions (pairs in wrong order), from which Kendall's tau is computed, for many rows at once.

Legend: B rows, T tokens.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from attest.core.memory import CACHE, by_rows, to_numpy

PAIRWISE_UP_TO = 512
"""The largest length of a row, in tokens, at which inversions are counted by comparing all pairs. In longer rows they are
counted bit by bit, which is then faster on a CPU."""


def dense_ranks(values: Tensor) -> Tensor:
    """Rank the values of each row from 0 without gaps: ``(..., T)`` -> int64 ``(..., T)``; equal values get equal ranks."""
    on_cpu = values.device.type == "cpu"
    order = torch.from_numpy(np.argsort(to_numpy(values), axis=-1)) if on_cpu else values.argsort(dim=-1)
    return torch.empty_like(order).scatter(-1, order, dense_ranks_of_sorted(values.gather(-1, order)))


def dense_ranks_of_sorted(ordered: Tensor) -> Tensor:
    """Return the dense ranks of rows that are sorted in ascending order: ``(..., T)`` -> ``(..., T)``."""
    steps = torch.zeros_like(ordered, dtype=torch.int64)
    steps[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    return steps.cumsum(dim=-1)


def inversions(ranks: Tensor) -> Tensor:
    """Count the pairs i < j of each row with ``ranks[i] > ranks[j]``: int64 ``(B, T)`` in [0, T) -> int64 ``(B,)``."""
    if ranks.shape[-1] > PAIRWISE_UP_TO:
        return _bitwise(ranks)
    compare = _pairwise if ranks.device.type == "cpu" else _pairwise_at_once
    return by_rows(compare, 2 * ranks.shape[-1] ** 2, ranks, budget=CACHE)


def _pairwise(ranks: Tensor) -> Tensor:
    """Count the inversions of each row by comparing all pairs."""
    size = ranks.shape[-1]
    rows = functional.pad(ranks, (0, -size % 8), value=size).to(torch.int16).numpy()  # whole words; padding overtakes nobody
    earlier = np.triu(np.ones((rows.shape[-1], rows.shape[-1]), dtype=bool), 1)
    inverted = np.greater(rows[:, :, None], rows[:, None, :])
    inverted &= earlier
    words = np.packbits(inverted).view(np.uint64).reshape(len(rows), -1)
    return torch.from_numpy(np.bitwise_count(words).sum(axis=-1, dtype=np.int64))


def _pairwise_at_once(ranks: Tensor) -> Tensor:
    """Count the inversions of each row as ``_pairwise`` does, in three kernels of an accelerator."""
    return (ranks.unsqueeze(2) > ranks.unsqueeze(1)).triu(1).sum(dim=(1, 2))


def _bitwise(ranks: Tensor) -> Tensor:
    """Count the inversions of each row of ranks by a radix sort, which sorts by one bit after another.

    A pair is inverted if, at the highest bit where its two ranks differ, the earlier rank has 1 and the later rank has 0. The
    sort begins with the highest bit, so ranks that agree in all higher bits are neighbours when this bit is sorted. There each
    inverted pair is counted once. O(T log T), exact.
    """
    size = ranks.shape[-1]
    digits = (size - 1).bit_length()
    position = torch.arange(size, device=ranks.device)
    counts = ranks.new_zeros(len(ranks), 1 << digits).scatter_add(-1, ranks, torch.ones_like(ranks))
    smaller = counts.cumsum(dim=-1) - counts
    count = torch.zeros_like(ranks[:, 0])
    for digit in reversed(range(digits)):
        prefix = ranks >> digit
        ones = prefix & 1
        seen = ones.cumsum(dim=-1) - ones
        ones_before = seen - seen.gather(-1, smaller.gather(-1, (prefix >> 1) << (digit + 1)))
        count += (ones_before * (1 - ones)).sum(dim=-1)
        place = torch.where(ones == 1, smaller.gather(-1, prefix << digit) + ones_before, position - ones_before)
        ranks = torch.empty_like(ranks).scatter(-1, place, ranks)
    return count
