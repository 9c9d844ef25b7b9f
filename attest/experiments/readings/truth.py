"""Comparison of explanations with the tokens that are known to decide the label.

Legend: B batch, R readings, T tokens.
"""

import torch
from torch import Tensor

from attest.core.rounding import compared
from attest.experiments.erasure.operators import delete
from attest.experiments.erasure.outcomes import outcomes_of, random_ranks, ranked_by
from attest.models.observation import Observation


def scores_against(ranks: Tensor, truth: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Measure how well rankings find the tokens that are known to decide the label.

    Args:
        ranks: int64 ``(B, R, T)``, as ``ranks_of`` returns them.
        truth: bool ``(B, T)``, True at the tokens that decide (true tokens).
        mask: bool ``(B, T)``, True at the tokens that are ranked.
    Returns:
        float64 ``(B, R)`` in [0, 1], NaN if no tokens or all tokens decide: ``precision``, the share of true tokens among the
        n tokens ranked first, if n tokens are true; ``depth``, the rank of the last true token, counted from 1, divided by the
        number of ranked tokens; ``auprc``, the average precision.
    """
    true = (truth & mask).unsqueeze(1).expand(ranks.shape)
    count = true.sum(dim=-1)
    length = mask.sum(dim=-1, keepdim=True)
    in_order = torch.zeros_like(true).scatter(-1, ranks, true)
    so_far = in_order.cumsum(dim=-1)
    place = torch.arange(1, ranks.shape[-1] + 1, device=ranks.device)
    precision = so_far.gather(-1, (count - 1).clamp(min=0).unsqueeze(-1)).squeeze(-1) / count
    average = (so_far / place * in_order).double().sum(dim=-1) / count
    depth = ((ranks + 1) * true).amax(dim=-1) / length
    undefined = (count == 0) | (count == length)
    scores = {"precision": precision, "depth": depth, "auprc": average}
    return {name: each.double().masked_fill(undefined, torch.nan) for name, each in scores.items()}


def hangs_on(observation: Observation, truth: Tensor, seed: int, sets: int = 20) -> Tensor:
    """Return whether erasing the deciding tokens lowers the probability more than erasing any random set, bool ``(B,)``.

    The probability must fall by more than rounding, and further than if any one of ``sets`` random sets of the same size is
    erased. False if no token decides or if all erasable tokens do.

    Args:
        truth: bool ``(B, T)``.
        seed: with an instance's id it fixes the random sets.
    """
    truth = truth & observation.ranked
    counts = truth.sum(dim=-1, keepdim=True)
    first = ranked_by(observation, truth.double().unsqueeze(1), seed)
    ranks = torch.cat([first, random_ranks(observation.ids, observation.ranked, sets, seed)], dim=1)
    left = outcomes_of(observation, ranks, counts, delete, slice(0, 1))[:, 0, :, 0]
    before = observation.confidence
    known = (counts.squeeze(-1) > 0) & (counts.squeeze(-1) < observation.erasable)
    lower = compared(left[:, :1], torch.cat([before.unsqueeze(-1), left[:, 1:]], dim=1), observation.within) < 0
    return known & lower.all(dim=-1)
