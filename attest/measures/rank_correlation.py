"""Kendall's tau-b for ragged batches, with the p-value and the ceiling that ties impose.

Legend: B batch, T tokens.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class KendallTau(NamedTuple):
    """Each ``(B,)`` float64; NaN where tau is undefined: fewer than two tokens, or a constant input."""

    tau: Tensor
    """tau-b in [-1, 1]."""
    p_value: Tensor
    """Two-sided, tie-corrected, asymptotic."""
    ceiling: Tensor
    """The largest |tau| that the ties in both inputs allow."""

    @property
    def significant(self) -> Tensor:
        """1 where p < 0.05, else 0; NaN where undefined."""
        return torch.where(self.p_value.isnan(), torch.nan, (self.p_value < 0.05).double())


def kendall_tau_b(x: Tensor, y: Tensor, mask: Tensor, pairs_at_once: int = 1 << 23) -> KendallTau:
    r"""Kendall's tau-b of two scores over the real tokens of each text (Kendall 1945).

    With :math:`n_0` pairs, :math:`n_1, n_2` of them tied in x and y,
    :math:`\tau_b = (n_c - n_d) / \sqrt{(n_0 - n_1)(n_0 - n_2)}` and
    :math:`|\tau_b| \le \sqrt{(n_0 - \max(n_1, n_2)) / (n_0 - \min(n_1, n_2))}`.

    Args:
        x, y: float ``(B, T)``, finite at real tokens.
        mask: bool ``(B, T)``, True at real tokens.
        pairs_at_once: bound on the pairs compared at a time, which bounds working memory.
    """
    chunk = max(1, pairs_at_once // x.shape[-1] ** 2)
    parts = [_tau_of_chunk(*rows) for rows in zip(x.split(chunk), y.split(chunk), mask.split(chunk), strict=True)]
    return KendallTau(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _tau_of_chunk(x: Tensor, y: Tensor, mask: Tensor) -> KendallTau:
    n = mask.sum(dim=-1).double()
    order_x, ties_x = _comparisons(x, mask)
    order_y, ties_y = _comparisons(y, mask)
    # Ordered pairs count each pair twice. Products are -1, 0, 1: float32 sums them exactly up to 4,096 tokens.
    exact = torch.float32 if x.shape[-1] <= 4096 else torch.float64
    balance = torch.linalg.vecdot(order_x.flatten(1).to(exact), order_y.flatten(1).to(exact)).double() / 2
    pairs = n * (n - 1) / 2
    tied_x, tied_y = _tied(ties_x, mask, lambda t: t / 2), _tied(ties_y, mask, lambda t: t / 2)
    fewer, more = torch.minimum(tied_x, tied_y), torch.maximum(tied_x, tied_y)
    tau = balance / ((pairs - tied_x) * (pairs - tied_y)).sqrt()
    ceiling = ((pairs - more) / (pairs - fewer)).sqrt()
    undefined = (pairs - tied_x <= 0) | (pairs - tied_y <= 0)
    deviation = _null_variance(n, ties_x, ties_y, mask).sqrt()
    p_value = torch.special.erfc(balance.abs() / deviation / 2**0.5)
    return KendallTau(*(column.masked_fill(undefined, torch.nan) for column in (tau.clamp(-1, 1), p_value, ceiling)))


def _comparisons(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Sign of every pairwise difference, int8 ``(B, T, T)``, and the other tokens tied with each, float64 ``(B, T)``."""
    values = values.masked_fill(~mask, torch.nan)  # comparisons with NaN are False: padding drops out by itself
    greater = values.unsqueeze(2) > values.unsqueeze(1)
    others = (values.unsqueeze(2) == values.unsqueeze(1)).sum(dim=-1).double() - 1
    return greater.to(torch.int8) - greater.transpose(1, 2).to(torch.int8), others


def _tied(others: Tensor, mask: Tensor, term) -> Tensor:
    """Sum over groups of ties, written as a sum over tokens: a group of t tokens has t members with t - 1 others each."""
    return (term(others) * mask).sum(dim=-1)


def _null_variance(n: Tensor, ties_x: Tensor, ties_y: Tensor, mask: Tensor) -> Tensor:
    """Variance of n_c - n_d if x and y are independent, corrected for ties (Kendall 1970; scipy's ``asymptotic``)."""
    ordered = n * (n - 1)
    pairs_x, pairs_y = (_tied(t, mask, lambda t: t / 2) for t in (ties_x, ties_y))
    triples_x, triples_y = (_tied(t, mask, lambda t: t * (t - 1)) for t in (ties_x, ties_y))
    spread_x, spread_y = (_tied(t, mask, lambda t: t * (2 * t + 7)) for t in (ties_x, ties_y))
    third_order = torch.where(n > 2, triples_x * triples_y / (9 * ordered * (n - 2)), 0.0)
    return (ordered * (2 * n + 5) - spread_x - spread_y) / 18 + 2 * pairs_x * pairs_y / ordered + third_order
