"""Do two rankings have the same tokens at their top? Kendall's tau counts all pairs, most of them of unimportant tokens."""

import torch
from torch import Tensor


def top_k_overlap(x: Tensor, y: Tensor, k: int, mask: Tensor) -> Tensor:
    r"""Overlap of the two sets of k largest scores, :math:`|A \cap B| / k`.

    Tokens that tie at the k-th place share the places that are left: each is in with the probability that a random order of
    them gives it, and the overlap is the one to be expected. A ranking at random has k/T with any other, and so has one in
    which all T tokens tie.

    Args:
        x, y: float ``(B, T)``, finite at real tokens.
        k: at least 1.
        mask: bool ``(B, T)``, True at the tokens to rank.
    Returns:
        float64 ``(B,)`` in [0, 1]; NaN where there are no more than k tokens, which all rankings share, or where an input is
        undefined.
    """
    overlap = (_membership(x, k, mask) * _membership(y, k, mask)).sum(dim=-1) / k
    undefined = (mask.sum(dim=-1) <= k) | ((x.isnan() | y.isnan()) & mask).any(dim=-1)
    return overlap.masked_fill(undefined, torch.nan)


def _membership(scores: Tensor, k: int, mask: Tensor) -> Tensor:
    """The probability that each token is among the k first, float64 ``(B, T)``; of rows with fewer tokens meaningless."""
    scores = scores.masked_fill(~mask, -torch.inf)
    last_B1 = scores.topk(min(k, scores.shape[-1]), dim=-1).values[:, -1:]
    above, tied = scores > last_B1, (scores == last_B1) & mask
    left_B1 = k - above.sum(dim=-1, keepdim=True)
    return above.double() + tied * (left_B1.double() / tied.sum(dim=-1, keepdim=True))
