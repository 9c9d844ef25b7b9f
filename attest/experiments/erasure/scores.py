"""Comprehensiveness and sufficiency, compared with random sets and with the limits.

Legend: B batch, R rankings, D random sets, K sizes.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.compute.rounding import compared


class Scores(NamedTuple):
    """Of each ranking, ``(B, 2, R)``: comprehensiveness in row 0, sufficiency in row 1."""

    aopc: Tensor
    """Mean over sizes of the fall of the predicted class's probability, in [-1, 1]."""
    random: Tensor
    """The same of random sets of these sizes, mean over sets."""
    win_rate: Tensor
    """Share of random sets that the ranking beats, ties half: a larger comprehensiveness, or a smaller sufficiency."""


def scored(before: Tensor, outcomes: Tensor, random_outcomes: Tensor, within: float) -> Scores:
    """Score rankings against random ones.

    Args:
        before: the predicted class's probability, ``(B,)``.
        outcomes: of the rankings, ``(B, 2, R, K)``, as ``outcomes_of`` returns them.
        random_outcomes: of random rankings, ``(B, 2, D, K)``.
        within: how large a difference is a tie, as ``rounding`` says: equal sets may be summed in another order.
    """
    aopc, random = (area(before, each) for each in (outcomes, random_outcomes))
    return Scores(aopc, random.mean(dim=-1, keepdim=True).expand_as(aopc), win_rate(aopc, random, within))


def area(before: Tensor, outcomes: Tensor) -> Tensor:
    """AOPC, the mean over sizes of how far the probability falls: ``(B,)``, ``(B, 2, R, K)`` -> ``(B, 2, R)``."""
    return before[:, None, None] - outcomes.mean(dim=-1)


def win_rate(aopc: Tensor, random: Tensor, within: float) -> Tensor:
    """Share of random sets beaten, ties half: ``(B, 2, R)``, ``(B, 2, D)`` -> ``(B, 2, R)``."""
    more = compared(aopc.unsqueeze(-1), random.unsqueeze(2), within)
    more[:, 1] *= -1
    return ((more + 1) / 2).mean(dim=-1).to(aopc)


def between_limits(aopc: Tensor, lower: Tensor, upper: Tensor, within: float) -> Tensor:
    """NAOPC (Edin et al. 2024), ``(aopc - lower) / (upper - lower)``; NaN where the limits are one."""
    width = upper - lower
    return torch.where(width > within, (aopc - lower) / width, torch.nan)
