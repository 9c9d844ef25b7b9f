"""Counting inversions, the heart of Kendall's tau, for many rows at once.

Legend: B rows, T tokens.
"""

import torch
from torch import Tensor

PAIRWISE_UP_TO = 48
"""Longest rows whose pairs are all compared; on a CPU the bitwise count takes over in speed at about this length."""


def dense_ranks(values: Tensor) -> Tensor:
    """Ranks from 0 without gaps, ties sharing one: ``(B, T)`` of any ordered dtype -> int64 ``(B, T)`` in [0, T)."""
    ordered, order = values.sort(dim=-1)
    steps = torch.zeros_like(order)
    steps[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.empty_like(order).scatter(-1, order, steps.cumsum(dim=-1))


def inversions(ranks: Tensor) -> Tensor:
    """Number of pairs i < j with ``ranks[i] > ranks[j]``: int64 ``(B, T)`` in [0, T) -> int64 ``(B,)``."""
    return _pairwise(ranks) if ranks.shape[-1] <= PAIRWISE_UP_TO else _bitwise(ranks)


def _pairwise(ranks: Tensor) -> Tensor:
    ranks = ranks.to(torch.int16)
    return (ranks.unsqueeze(2) > ranks.unsqueeze(1)).triu(1).flatten(1).sum(dim=-1)


def _bitwise(ranks: Tensor) -> Tensor:
    """Sort by one binary digit after another, from the highest, counting the ones that each zero overtakes.

    A pair is inverted if, at the highest digit where the two ranks differ, the earlier has 1 and the later 0; that digit
    counts it once, among the ranks that agree in all higher digits and lie side by side by then. O(T log T), exact.
    """
    size = ranks.shape[-1]
    digits = (size - 1).bit_length()
    position = torch.arange(size, device=ranks.device)
    smaller = _how_many_are_smaller(ranks, 1 << digits)
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


def _how_many_are_smaller(ranks: Tensor, bound: int) -> Tensor:
    """For each r in [0, bound), how many ranks of the row lie below r: int64 ``(B, bound)``."""
    counts = ranks.new_zeros(len(ranks), bound).scatter_add(-1, ranks, torch.ones_like(ranks))
    return counts.cumsum(dim=-1) - counts
