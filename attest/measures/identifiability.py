"""What of an attention its outcome determines: the part outside the left null space (Brunner et al. 2020).

An outcome α T is the same for α + x wherever x T = 0. Legend: T tokens, F features, Q distributions that share a T.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.measures.divergences import jensen_shannon
from attest.measures.rank_correlation import kendall_tau_b


class ColumnSpace(NamedTuple):
    """The orthogonal complement of the left null space {x: x T = 0}."""

    basis: Tensor
    """float64 ``(..., T, min(T, F))``: orthonormal columns, those beyond the rank 0; 0 at padding."""
    rank: Tensor
    """int64 ``(...)``. The null space has as many dimensions as the text has more tokens than this."""


class Agreement(NamedTuple):
    """Raw and effective attention compared, float64 ``(..., Q)`` each; NaN where undefined."""

    tau: Tensor
    """τ-b over the real tokens; NaN too where either is constant."""
    cosine: Tensor
    """In [0, 1]: the length of the projection over the length."""
    l1: Tensor
    """Sum of absolute differences; neither is a distance of distributions, since effective attention is none."""
    jsd: Tensor
    """In nats, after clipping negative weights and renormalising; NaN where nothing is left."""


def column_space(matrix: Tensor, mask: Tensor) -> ColumnSpace:
    """By SVD in float64; a singular value counts where it exceeds max(L, F) · ε · the largest.

    ε is the rounding of the dtype that the matrix comes in, since noise of float32 is no direction in float64; L is the number
    of real tokens. A matrix of zeros has rank 0.

    Args:
        matrix: float ``(..., T, F)``.
        mask: bool ``(..., T)``, True at real tokens.
    """
    real = torch.where(mask.unsqueeze(-1), matrix.double(), 0)
    basis, values, _ = torch.linalg.svd(real, full_matrices=False)
    larger = mask.sum(dim=-1).clamp(min=matrix.shape[-1])
    tolerance = larger * torch.finfo(matrix.dtype).eps * values.amax(dim=-1)
    counts = values > tolerance.unsqueeze(-1)
    return ColumnSpace(basis * counts.unsqueeze(-2), counts.sum(dim=-1))


def with_ones(matrix: Tensor) -> Tensor:
    """``[T, 1]``: what T and the knowledge that weights sum to 1 determine together."""
    return torch.cat([matrix, torch.ones_like(matrix[..., :1])], dim=-1)


def effective_attention(weights: Tensor, space: ColumnSpace) -> Tensor:
    """Weights minus their projection onto the null space: float64 ``(..., Q, T)`` of ``(..., Q, T)``.

    It gives the same outcome, may be negative, and need not sum to 1.
    """
    return (weights.double() @ space.basis) @ space.basis.mT


def agreement(raw: Tensor, effective: Tensor, mask: Tensor) -> Agreement:
    """Compare ``(..., Q, T)`` with ``(..., Q, T)`` over the real tokens ``(..., T)``."""
    raw, mask = raw.double(), mask.unsqueeze(-2).expand(raw.shape)
    flat = (values.reshape(-1, raw.shape[-1]) for values in (raw, effective, mask))
    lengths = (effective * effective).sum(dim=-1).sqrt(), (raw * raw).sum(dim=-1).sqrt()
    product = torch.where(lengths[0] * lengths[1] > 0, lengths[0] * lengths[1], torch.nan)
    clipped = effective.clamp(min=0)
    total = clipped.sum(dim=-1, keepdim=True)
    distribution = clipped / torch.where(total > 0, total, torch.nan)
    return Agreement(
        kendall_tau_b(*flat).tau.view(raw.shape[:-1]),
        (raw * effective).sum(dim=-1) / product,
        (raw - effective).abs().sum(dim=-1),
        torch.where(total.squeeze(-1) > 0, jensen_shannon(raw, distribution.nan_to_num()), torch.nan),
    )
