"""How spread is a distribution: entropy as a share of the largest possible one."""

import torch
from torch import Tensor


def normalised_entropy(weights: Tensor, mask: Tensor) -> Tensor:
    r"""Shannon entropy over :math:`\log n` of non-negative weights, normalised over the n real tokens first.

    Args:
        weights: float ``(..., T)``, not negative at real tokens.
        mask: bool, broadcastable to ``(..., T)``, True at real tokens.
    Returns:
        ``(...)`` in [0, 1]; NaN for one token and for weights that are all zero.
    """
    weights = weights.masked_fill(~mask, 0)
    n = mask.expand(weights.shape).sum(dim=-1)
    p = weights / weights.sum(dim=-1, keepdim=True)
    entropy = -torch.xlogy(p, p).sum(dim=-1) / n.to(weights.dtype).log()
    return torch.where(n > 1, entropy.clamp(0, 1), torch.nan)
