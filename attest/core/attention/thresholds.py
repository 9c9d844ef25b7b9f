r"""Sparsemax and 1.5-entmax by their threshold τ: what lies below it gets no weight.

Both give a score s the weight :math:`h^{1/c}` of its height :math:`h = [c s - τ]_+` above the threshold, c = 1 for sparsemax
and 1/2 for 1.5-entmax, τ such that the weights of a row sum to 1. It follows from the row's largest scores alone.

The ``entmax`` package computes the same to the bit. But it sorts indices along with the scores, which takes it most of its
time on a CPU, and begins anew where a support is wider than expected. Here scores are sorted once and alone
(``benchmarks/projections.py``), and second derivatives are those of the mapping too. ``torch.compile`` leaves them alone.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from attest.core.memory import sort_rows

LARGEST = 32
"""Scores of a row that are looked at first, four times as many where its support is wider; results never depend on it."""


def _left_alone(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Decorate a function with ``torch.compiler.disable``, at its first call, because that import takes a second."""
    disabled: list[Callable[[Tensor], Tensor]] = []

    @wraps(function)
    def call(scores: Tensor) -> Tensor:
        if not disabled:
            disabled.append(torch.compiler.disable(function))
        return disabled[0](scores)

    return call


@_left_alone
def sparsemax(scores: Tensor) -> Tensor:
    """Project float scores ``(..., T)``, minus infinity at padding, on the simplex (Martins & Astudillo 2016)."""
    return _Heights.apply(scores, _SPARSEMAX)


@_left_alone
def entmax15(scores: Tensor) -> Tensor:
    """Compute 1.5-entmax of float scores ``(..., T)``, minus infinity at padding (Peters et al. 2019)."""
    return _Heights.apply(scores, _ENTMAX15).square()


class _Family(NamedTuple):
    """The constants and functions in which sparsemax and 1.5-entmax differ.

    Attributes:
        scale: c.
        solve: from rows ``(..., K)``, sorted from largest to smallest, to τ and the size of the support, ``(..., 1)`` both.
        pull: from heights to how much a unit of each score moves τ, but for a factor.
    """

    scale: float
    solve: Callable[[Tensor], tuple[Tensor, Tensor]]
    pull: Callable[[Tensor], Tensor]


class _Heights(Function):
    """The heights of scores ``(..., T)`` above the threshold τ of their row, with a gradient; 0 for scores below τ."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, family: _Family) -> Tensor:
        scaled = (scores - scores.amax(dim=-1, keepdim=True)).mul_(family.scale)
        heights = scaled.sub_(_threshold(sort_rows(scaled), family, LARGEST)).clamp_(min=0)
        ctx.save_for_backward(heights)
        ctx.family = family
        return heights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Multiply a gradient by the Jacobian: a score raises its own height and, by τ, lowers its row's (ibid., Prop. 2)."""
        (heights,) = ctx.saved_tensors
        within = gradient * (heights > 0)
        pull = ctx.family.pull(heights)
        lowered = within.sum(dim=-1, keepdim=True) / pull.sum(dim=-1, keepdim=True)
        return torch.addcmul(within, pull, lowered, value=-1) * ctx.family.scale, None


def _threshold(ascending: Tensor, family: _Family, largest: int) -> Tensor:
    """Find τ ``(..., 1)`` of sorted rows ``(..., T)`` from as many of their largest scores as their supports need."""
    threshold, size = family.solve(ascending[..., -largest:].flip(-1))
    if largest < ascending.shape[-1]:
        wider = (size == largest).squeeze(-1)
        if wider.any():
            threshold[wider] = _threshold(ascending[wider], family, 4 * largest)
    return threshold


def _solve_sparsemax(descending: Tensor) -> tuple[Tensor, Tensor]:
    """Find τ and the size of the support by Algorithm 1 of Martins & Astudillo (2016)."""
    excess = descending.cumsum(dim=-1) - 1
    size = (_ranks(descending) * descending > excess).sum(dim=-1, keepdim=True)
    return excess.gather(-1, size - 1) / size, size


def _solve_entmax15(descending: Tensor) -> tuple[Tensor, Tensor]:
    """Find τ and the size of the support by Algorithm 2 of Peters et al. (2019)."""
    ranks = _ranks(descending)
    mean = descending.cumsum(dim=-1) / ranks
    scatter = ranks * (descending.square().cumsum(dim=-1) / ranks - mean.square())
    thresholds = mean - ((1 - scatter) / ranks).clamp(min=0).sqrt()
    size = (thresholds <= descending).sum(dim=-1, keepdim=True)
    return thresholds.gather(-1, size - 1), size


def _ranks(rows: Tensor) -> Tensor:
    return torch.arange(1, rows.shape[-1] + 1, dtype=rows.dtype, device=rows.device)


def _support(heights: Tensor) -> Tensor:
    return (heights > 0).to(heights.dtype)


_SPARSEMAX = _Family(1.0, _solve_sparsemax, pull=_support)
_ENTMAX15 = _Family(0.5, _solve_entmax15, pull=lambda heights: heights)
