"""Projections, which turn scores into attention weights that are at least 0 and sum to 1.

All share one interface: scores ``(..., T)`` and a mask go in, a distribution comes out that sums to 1 over real tokens and
is exactly 0 at padding. Half precision is computed in float32, because sparse supports are decided by small differences
(1.5-entmax row sums drift to 0.967 in bfloat16).

Sparse projections are those of the ``entmax`` package, which cannot all be differentiated twice.
"""

import math
from copy import deepcopy
from typing import Any, ClassVar, Self

import entmax
import torch
from torch import Tensor, nn

from attest.core.errors import AttestError


def require_real_tokens(mask: Tensor) -> None:
    """Raise a ``ValueError`` if a row of the mask, bool ``(..., T)``, has no real token."""
    if not bool(mask.any(dim=-1).all()):
        empty = (~mask.any(dim=-1)).nonzero().tolist()
        shown = f"{empty[:5]} and {len(empty) - 5} others" if len(empty) > 5 else f"{empty}"
        raise ValueError(
            f"the rows {shown} of the mask {tuple(mask.shape)} are all padding; expected at least one real token in each row. "
            "Drop empty texts in the DataModule before batching."
        )


STEPS = {torch.float32: 30, torch.float64: 60}
"""The number of bisection steps with which α-entmax searches for its threshold τ, by dtype of the scores. After so many steps
the interval that contains τ is smaller than the rounding error of the dtype."""


class Projection(nn.Module):
    """A map from scores to attention weights, 0 at padding; a subclass defines the map in ``onto_simplex``."""

    reads_scores: ClassVar[bool] = True
    """Whether the weights depend on the attention scores. False, for example, in ``Uniform``, which gives all real tokens the
    same weight."""

    sparse: ClassVar[bool] = False
    """Whether a real token (no padding) can get a weight of exactly 0, as in sparsemax."""

    @classmethod
    def is_sparse(cls, **arguments: Any) -> bool:
        """Return whether a projection made with ``arguments`` can give a real token a weight of exactly 0."""
        return cls.sparse

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map attention scores to weights that sum to 1 over the real tokens.

        Args:
            scores: float ``(..., T)``, finite at real tokens; any scale.
            mask: bool, broadcastable to ``scores``, True at real tokens; at least one in each row.
        Returns:
            Attention, shape and dtype of ``scores``, in [0, 1]; sums to 1 in each row, padding is exactly 0.
        Raises:
            ValueError: a text has no real token. A mask on a GPU is not looked at, because the CPU would wait for it at each
                projection, nor is any mask by a compiled network; the attention of such a text is NaN there. Corpora and
                ``observe`` refuse it beforehand.
        """
        if mask.device.type == "cpu" and not torch.compiler.is_compiling():
            require_real_tokens(mask)
        masked = scores.masked_fill(~mask, -torch.inf)
        if scores.dtype in (torch.float16, torch.bfloat16):
            return self.onto_simplex(masked.float()).to(scores.dtype)
        return self.onto_simplex(masked)

    def onto_simplex(self, scores: Tensor) -> Tensor:
        """Map scores ``(..., T)``, float32 or float64, -inf at padding, to distributions of the same shape."""
        raise NotImplementedError(f"{type(self).__name__} must define the method onto_simplex.")

    def for_heads(self, heads: int) -> Self:
        """Return a copy of this projection for scores ``(B, heads, T, T)``, with separate parameters for each head."""
        return deepcopy(self)


class Softmax(Projection):
    """The softmax projection, which is the default: every real token gets a weight above 0."""

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)


class Sparsemax(Projection):
    """The exact sparsemax projection (Martins & Astudillo 2016): the weights that are nearest to the scores."""

    sparse = True

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return entmax.sparsemax(scores, dim=-1)


class Entmax15(Projection):
    """The exact 1.5-entmax projection (Peters et al. 2019), which is between softmax and sparsemax."""

    sparse = True

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return entmax.entmax15(scores, dim=-1)


class Entmax(Projection):
    r"""The α-entmax projection (Peters et al. 2019): :math:`[(α - 1) s - τ]_+^{1/(α - 1)}`; τ makes the sum 1.

    α = 1 is softmax and α = 2 sparsemax; these and 1.5 are computed exactly, others by bisection to the rounding of the dtype.

    Args:
        alpha: α ≥ 1; larger is sparser.
        learned: let training move α within (1.01, 2), starting from ``alpha``; one α for each head inside a Transformer
            (Correia et al. 2019). Below 1.01 the gradient of α is lost to rounding.
    Raises:
        AttestError: α is not in range.
    """

    sparse = True

    @classmethod
    def is_sparse(cls, alpha: float = 1.5, **arguments: Any) -> bool:
        return alpha != 1

    def __init__(self, alpha: float = 1.5, learned: bool = False) -> None:
        super().__init__()
        low, high = (1.01, 2.0) if learned else (1.0, math.inf)
        if not (low < alpha < high or (alpha == 1 and not learned)):
            expected = "1.01 < α < 2 to be learned from" if learned else "a finite α ≥ 1"
            raise AttestError(f"alpha={alpha} is not an α of entmax; expected {expected}, for example alpha=1.5.")
        self.fixed = None if learned else float(alpha)
        self.logit = nn.Parameter(torch.tensor((alpha - 1.01) / 0.99).logit()) if learned else None

    @property
    def alpha(self) -> float | Tensor:
        """Return the current α: a number, or the learned tensor, ``()`` or ``(heads, 1, 1)``."""
        if self.logit is not None:
            return 1.01 + 0.99 * self.logit.sigmoid()
        assert self.fixed is not None
        return self.fixed

    def onto_simplex(self, scores: Tensor) -> Tensor:
        exact = {1.0: Softmax, 1.5: Entmax15, 2.0: Sparsemax}.get(self.fixed or 0.0)
        if exact is not None:
            return exact().onto_simplex(scores)
        shifted = scores - scores.amax(dim=-1, keepdim=True)  # same answer; the bracket of τ then keeps all its digits
        alpha = self.alpha.to(scores.dtype) if isinstance(self.alpha, Tensor) else self.alpha
        return entmax.entmax_bisect(shifted, alpha, dim=-1, n_iter=STEPS[scores.dtype])

    def for_heads(self, heads: int) -> Self:
        copy = deepcopy(self)
        if copy.logit is not None:
            copy.logit = nn.Parameter(copy.logit.detach().expand(heads, 1, 1).clone())
        return copy


class Sparsegen(Projection):
    r"""The sparsegen-lin projection (Laha et al. 2018): :math:`\arg\min_p \lVert p - s \rVert^2 - λ \lVert p \rVert^2`.

    It equals sparsemax of ``scores / (1 - λ)``: λ → 1 is one-hot, 0 sparsemax, −∞ uniform.

    Args:
        lam: λ < 1; larger is sparser.
    Raises:
        AttestError: λ is 1 or more, where the minimum is no longer unique.
    """

    sparse = True

    def __init__(self, lam: float = 0.0) -> None:
        super().__init__()
        if not lam < 1:
            raise AttestError(f"lam={lam} is not a λ of sparsegen; expected a number below 1, for example lam=0.5.")
        self.lam = float(lam)

    def onto_simplex(self, scores: Tensor) -> Tensor:
        return Sparsemax().onto_simplex(scores / (1 - self.lam))


class Uniform(Projection):
    """A projection that gives every real token the same weight; used as a baseline (Wiegreffe & Pinter 2019)."""

    reads_scores = False

    def onto_simplex(self, scores: Tensor) -> Tensor:
        real = (scores > -torch.inf).to(scores.dtype)
        return real / real.sum(dim=-1, keepdim=True)


class Last(Projection):
    """A projection that gives the last real token all weight: the classifier without attention that reads the last state.

    It is a baseline beside ``Uniform``. In a BiLSTM, the half of the last state that reads from right to left has seen the
    last token alone.
    """

    reads_scores = False
    sparse = True

    def onto_simplex(self, scores: Tensor) -> Tensor:
        real = scores > -torch.inf
        count = real.long().cumsum(dim=-1)
        last = (real & (count == count[..., -1:])).to(scores.dtype)
        return last / last.sum(dim=-1, keepdim=True)
