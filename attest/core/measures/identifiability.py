"""The part of an attention that its output determines: the part outside the left null space (Brunner et al. 2020).

An outcome α T is the same for α + x wherever x T = 0. Legend: T tokens, F features, Q distributions that share a T.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.linalg import vector_norm

from attest.core.measures.divergences import jensen_shannon
from attest.core.measures.rank_correlation import tau_b


class ColumnSpace(NamedTuple):
    """The column space of a matrix T: the orthogonal complement of its left null space {x: x T = 0}."""

    basis: Tensor
    """float64 ``(..., T, R)``, with R = min(T, F), or one more after ``with_ones``: an orthonormal basis of the column space
    in its columns; unused columns and rows of padding are 0."""
    rank: Tensor
    """int64 ``(...)``: the rank of the matrix; the left null space of a text with L real tokens has L - rank dimensions."""


class Agreement(NamedTuple):
    """Four measures of how well effective attention agrees with raw attention, float64 each; NaN if undefined."""

    tau: Tensor
    """float64 ``(..., Q, K)``: Kendall's τ-b, over the real tokens, between raw attention (the Q distributions of the model)
    and effective attention (K variants of each, without the part that cannot change the output), in [-1, 1]; NaN if either is
    constant."""
    cosine: Tensor
    """float64 ``(..., Q, K)``: the cosine between raw and effective attention, in [0, 1]. Effective attention is a projection
    of the raw one, so this is the ratio of their Euclidean lengths."""
    l1: Tensor
    """float64 ``(..., Q, K)``: the L1 distance between raw and effective attention: the sum over the tokens of the absolute
    differences, at least 0."""
    jsd: Tensor
    """float64 ``(..., Q, K)``: the Jensen-Shannon divergence between raw and effective attention, in nats, in [0, ln 2].
    Negative weights of the effective attention are first set to 0 and the rest is scaled to sum to 1; NaN if no weight is
    above 0."""


def column_space(matrix: Tensor, mask: Tensor) -> ColumnSpace:
    """Compute the column space of each matrix ``(..., T, F)``; rows outside ``mask (..., T)`` count as 0.

    Computed in float64. A singular value counts if it is larger than max(L, F) · ε · the largest one, with L real tokens and ε
    the rounding of the matrix's own dtype. A matrix of zeros has rank 0. If the rank is surely full, no singular values are
    computed.
    """
    size, features = matrix.shape[-2:]
    real = torch.where(mask.unsqueeze(-1), matrix.double(), 0).view(-1, size, features)
    mask_MT = mask.reshape(-1, size)
    count = mask_MT.sum(dim=-1)
    noise = count.clamp(min=features) * torch.finfo(matrix.dtype).eps
    basis, rank, known = real.new_zeros(len(real), size, min(size, features)), count.clamp(max=features), count < 0
    for some, complete in ((count <= features, _every_token), (count > features, _every_feature)):
        if some.any():
            basis[some], known[some] = complete(real[some], mask_MT[some], noise[some])
    if not known.all():
        directions, values, _ = torch.linalg.svd(real[~known], full_matrices=False)
        counts = values > (noise[~known] * values.amax(dim=-1)).unsqueeze(-1)
        basis[~known], rank[~known] = directions * counts.unsqueeze(-2), counts.sum(dim=-1)
    return ColumnSpace(basis.mul_(mask_MT.unsqueeze(-1)).view(*mask.shape, -1), rank.view(mask.shape[:-1]))


def _every_feature(real: Tensor, mask: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Return an orthonormal basis of the columns of ``real``, and whether these columns are linearly independent."""
    basis, triangle = torch.linalg.qr(real)
    return basis, _invertible(triangle, noise)


def _every_token(real: Tensor, mask: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Return one unit vector per real token, and whether these tokens' rows of ``real`` are linearly independent."""
    width = min(real.shape[1:])
    first = mask.int().argsort(dim=-1, descending=True, stable=True)[:, :width]
    rows = real.gather(1, first.unsqueeze(-1).expand(-1, -1, real.shape[-1]))
    triangle = torch.linalg.qr(rows.mT, mode="r").R
    padding = ~mask.gather(-1, first) * torch.linalg.matrix_norm(triangle).unsqueeze(-1)
    basis = real.new_zeros(*mask.shape, width).scatter_(1, first.unsqueeze(1), 1.0)
    return basis, _invertible(triangle + padding.diag_embed(), noise)


def _invertible(triangle: Tensor, noise: Tensor) -> Tensor:
    """Return whether a triangular matrix surely has no singular value near the rounding noise."""
    one = torch.eye(triangle.shape[-1], dtype=triangle.dtype, device=triangle.device)
    inverse = torch.linalg.solve_triangular(triangle, one.expand_as(triangle), upper=True)
    return torch.linalg.matrix_norm(triangle) * torch.linalg.matrix_norm(inverse) * noise < 1


def with_ones(space: ColumnSpace, mask: Tensor, dtype: torch.dtype) -> ColumnSpace:
    """Extend a column space by a column of ones, because attention weights are known to sum to 1.

    The part of this column that lies outside the space is added as one more direction, if it is not only a rounding error: if
    it is longer than L · ε times the column of ones, with L real tokens and ε the rounding of ``dtype``.

    Args:
        space: the column space of T.
        mask: bool ``(..., T)``, True at real tokens.
        dtype: the dtype in which T was computed.
    """
    count = mask.sum(dim=-1).double()[..., None, None].clamp(min=1)
    ones = mask.unsqueeze(-1) / count.sqrt()
    outside = _outside(_outside(ones, space.basis), space.basis)  # twice, so that it is orthogonal to the last digit
    length = vector_norm(outside, dim=-2, keepdim=True)
    counts = length > count * torch.finfo(dtype).eps
    new = torch.where(counts, outside / length, 0)
    return ColumnSpace(torch.cat([space.basis, new], dim=-1), space.rank + counts.squeeze(-1).squeeze(-1))


def _outside(vectors: Tensor, basis: Tensor) -> Tensor:
    return vectors - basis @ (basis.mT @ vectors)


def effective_attention(weights: Tensor, space: ColumnSpace) -> Tensor:
    """Compute effective attention: the weights minus their part in the left null space, float64 ``(..., Q, T)``.

    It gives the same outcome, may be negative, and need not sum to 1.
    """
    return (weights.double() @ space.basis) @ space.basis.mT


def agreement(raw: Tensor, effective: Tensor, mask: Tensor) -> Agreement:
    """Compare raw attention with each of K effective attentions by four measures, ``(..., Q, K)`` each.

    Args:
        raw: float ``(..., Q, T)``.
        effective: float64 ``(..., Q, K, T)``.
        mask: bool ``(..., T)``.
    """
    raw, mask, shape = raw.double(), mask.unsqueeze(-2).expand(raw.shape), effective.shape[:-1]
    tau = tau_b(raw.flatten(0, -2), effective.flatten(0, -3), mask.flatten(0, -2))
    raw = raw.unsqueeze(-2)
    lengths = vector_norm(effective, dim=-1) * vector_norm(raw, dim=-1)
    clipped = effective.clamp(min=0)
    total = clipped.sum(dim=-1, keepdim=True)
    distribution = clipped / torch.where(total > 0, total, torch.nan)
    return Agreement(
        tau.view(shape),
        (raw * effective).sum(dim=-1) / torch.where(lengths > 0, lengths, torch.nan),
        (raw - effective).abs().sum(dim=-1),
        torch.where(total.squeeze(-1) > 0, jensen_shannon(raw, distribution.nan_to_num()), torch.nan),
    )
