"""Beam search for a ranking with a large, or a small, AOPC (Edin et al. 2024): where no exact limits are known.

Legend: B batch, W width, K sizes, T tokens.
"""

import torch
from torch import Tensor

from attest.experiments.erasure.operators import Operator
from attest.models.observation import Observation

WIDTH = 5
"""Rankings that are kept after every step."""


@torch.no_grad()
def beam_limits(observation: Observation, counts: Tensor, operator: Operator, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """The smallest and the largest AOPC that a search finds; the true limits lie at or beyond them.

    Args:
        observation: the batch; texts of at least two tokens.
        counts: int64 ``(B, K)``.
        operator: one of ``operators()``.
        width: W.
    Returns:
        Two ``(B, 2)``: comprehensiveness, sufficiency.
    """
    rows = [
        torch.stack([_searched(observation, counts, operator, width, alone, sign) for alone in (False, True)], dim=1)
        for sign in (-1, 1)
    ]
    return rows[0], rows[1]


def _searched(observation: Observation, counts: Tensor, operator: Operator, width: int, alone: bool, sign: int) -> Tensor:
    """The AOPC of the best ranking found, ``(B,)``; ``alone``: of the first k kept, not of the rest."""
    mask, size = observation.ranked, observation.mask.shape[-1]
    always = (observation.mask & ~mask).unsqueeze(1)
    before = observation.probabilities.gather(-1, observation.predicted.unsqueeze(-1))
    chosen = torch.zeros(len(mask), 1, size, dtype=torch.bool, device=mask.device)
    score = before.new_zeros(len(mask), 1)
    for step in range(1, int(counts.max()) + 1):
        grown = (chosen.unsqueeze(2) | torch.eye(size, dtype=torch.bool, device=mask.device)).flatten(1, 2)
        possible = (~chosen & mask.unsqueeze(1)).flatten(1)
        kept = (grown if alone else ~grown) & mask.unsqueeze(1) | always
        fall = before - operator(observation, kept)
        times = (counts == step).sum(dim=-1, keepdim=True)
        total = score.repeat_interleave(size, dim=1) + times * fall
        look = total + 1e-6 * fall * (times == 0)  # between sizes that count, the better set so far goes on
        best = (sign * look).masked_fill(~possible, -torch.inf).topk(min(width, grown.shape[1]), dim=1)
        usable = best.values.isfinite()
        index = torch.where(usable, best.indices, best.indices[:, :1])
        over = (step > counts.amax(dim=-1))[:, None]
        kept_on = index.shape[1]
        chosen = grown.gather(1, index.unsqueeze(-1).expand(-1, -1, size))
        score = torch.where(
            over, score.amax(dim=1, keepdim=True) if sign > 0 else score.amin(dim=1, keepdim=True), total.gather(1, index)
        )
        score = score.expand(-1, kept_on)
    best_found = score.amax(dim=1) if sign > 0 else score.amin(dim=1)
    return best_found / counts.shape[1]
