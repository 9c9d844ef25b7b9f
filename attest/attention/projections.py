"""Projections: from scores to a point of the probability simplex.

All share one interface: scores ``(..., T)`` and a mask go in, a distribution comes out that sums to 1 over real tokens and
is exactly 0 at padding. Half precision is computed in float32, because sparse supports are decided by small differences
(1.5-entmax row sums drift to 0.967 in bfloat16).
"""

import entmax
import torch
from torch import Tensor, nn

from attest.attention.masking import require_real_tokens


class Projection(nn.Module):
    """The masked shell around a mapping onto the simplex; subclasses say which in ``onto_simplex``."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Project scores onto the simplex of real tokens.

        Args:
            scores: float ``(..., T)``, finite at real tokens; any scale.
            mask: bool, broadcastable to ``(..., T)``, True at real tokens; at least one per row.
        Returns:
            Attention, shape and dtype of ``scores``, in [0, 1]; rows sum to 1, padding is exactly 0.
        Raises:
            ValueError: a text has no real token.
        """
        require_real_tokens(mask)
        masked = scores.masked_fill(~mask, -torch.inf)
        if scores.dtype in (torch.float16, torch.bfloat16):
            return self.onto_simplex(masked.float()).to(scores.dtype)
        return self.onto_simplex(masked)

    def onto_simplex(self, scores: Tensor) -> Tensor:
        """Map float32 or float64 scores ``(..., T)``, minus infinity at padding, to distributions of the same shape."""
        raise NotImplementedError(f"{type(self).__name__} must say how it projects: define onto_simplex.")


class Softmax(Projection):
    """The dense default: every real token gets some weight."""

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)


class Sparsemax(Projection):
    """The nearest point of the simplex in Euclidean distance (Martins & Astudillo 2016); exact, by sorting."""

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return entmax.sparsemax(scores, dim=-1)


class Entmax15(Projection):
    """1.5-entmax (Peters et al. 2019), halfway between softmax and sparsemax; exact, by sorting."""

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return entmax.entmax15(scores, dim=-1)


class Uniform(Projection):
    """The control: every real token gets the same weight, whatever its score (Wiegreffe & Pinter 2019's frozen attention)."""

    def onto_simplex(self, scores: Tensor) -> Tensor:
        real = (scores > -torch.inf).to(scores.dtype)
        return real / real.sum(dim=-1, keepdim=True)
