"""Kullback-Leibler divergences that can be trained: their gradients are finite also where a weight is 0, at padding say."""

import torch
from torch import Tensor

SMOOTHING = 0.01
"""Share of the uniform distribution mixed into both sides of the smoothed divergence, which so stays below ln(T / 0.01)."""


def kullback_leibler(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`KL(p \| q) = \sum p \log (p / q)` in nats, ``(..., T), (..., T) -> (...)``, at least 0.

    Where p is 0 its term is 0. Infinite where q is 0 and p is not.
    """
    return kullback_leibler_terms(p, q).sum(dim=-1).clamp(min=0)


def kullback_leibler_terms(p: Tensor, q: Tensor) -> Tensor:
    """What each token contributes to KL(p || q): ``(..., T), (..., T) -> (..., T)``; 0 where p is 0, its gradient too."""
    there = p > 0
    return torch.where(there, p * (_log(p, there) - _log(q, there)), 0.0)


def smoothed_kullback_leibler(p: Tensor, q: Tensor, mask: Tensor) -> Tensor:
    """KL of both distributions mixed with a hundredth of the uniform one: finite on sparse attention.

    Args:
        p, q: ``(..., T)``, 0 at padding.
        mask: bool, broadcastable to ``(..., T)``, True at real tokens; at least one in each row.
    """
    real = mask.to(p.dtype)
    uniform = real / real.sum(dim=-1, keepdim=True)
    return kullback_leibler(*((1 - SMOOTHING) * each + SMOOTHING * uniform for each in (p, q)))


def _log(values: Tensor, where: Tensor) -> Tensor:
    """Logarithms where asked for, 0 elsewhere, without a NaN in the gradient of either."""
    return torch.where(where, values, 1.0).log()
