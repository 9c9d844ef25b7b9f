r"""The limits of AOPC: the greatest and the least effect of erasing any k tokens from the attention.

They are exact with two classes and a linear decoder. The outcome of keeping a set of tokens is then the sigmoid of the ratio
:math:`\sum_{kept} \alpha_i m_i / \sum_{kept} \alpha_i`, which Dinkelbach's iteration (1967) maximises over sets of a size.
From the best ratio so far, :math:`\lambda`, it takes the tokens with the largest :math:`\alpha_i (m_i - \lambda)`; if these
values have a positive sum, the tokens have a better ratio. For other models, a beam search finds a ranking with a large, or a
small, AOPC (Edin et al. 2024).

Legend: B batch, W width of the beam, K sizes, T tokens.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.experiments.erasure.operators import attention, bias_alone, is_pooled_linearly
from attest.models.observation import Observation

STEPS = 50
"""The most iterations of the search for the best set of tokens. It is far more than needed: each iteration must improve the
ratio, and 5 iterations were the most that ever occurred."""


def has_exact_limits(observation: Observation) -> bool:
    """Return whether the exact limits of AOPC can be computed for a model."""
    return observation.margins is not None and is_pooled_linearly(observation)


@torch.no_grad()
def exact_limits(observation: Observation, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the smallest and largest fall of the predicted class's probability when any k tokens are erased.

    Args:
        observation: with two classes and a linear decoder.
        counts: int64 ``(B, K)``, tokens erased, or, in row 1, kept; less than the text has.
    Returns:
        Two float64 ``(B, 2, K)``: erasing k tokens in row 0 (comprehensiveness), all but k in row 1 (sufficiency).
    """
    assert observation.margins is not None
    favour = torch.where(observation.predicted == 1, 1, -1).unsqueeze(-1) * observation.margins
    kept = torch.stack([observation.lengths.unsqueeze(-1) - counts, counts], dim=1)
    weights, nothing = observation.attention.double(), bias_alone(observation).double()[:, None, None]
    both = [torch.cat([favour, -favour]), *(torch.cat([each, each]) for each in (weights, observation.mask, kept))]
    largest, smallest = _best_ratio(*both).chunk(2)
    possible = ((weights == 0) & observation.mask).sum(dim=-1)[:, None, None] >= kept
    highest = _with_nothing(largest, nothing, possible, torch.maximum)
    lowest = _with_nothing(-smallest, nothing, possible, torch.minimum)
    before = observation.confidence.double()[:, None, None]
    return before - highest, before - lowest


def _with_nothing(ratio: Tensor, nothing: Tensor, possible: Tensor, extreme: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return the largest (or smallest) probability that any n tokens leave, ``(B, 2, K)``, given the extreme ratio.

    If enough tokens have weight 0, a set can have no attention; its probability is ``nothing``.
    """
    reached = torch.where(ratio.isfinite(), ratio.sigmoid(), nothing)
    return torch.where(possible, extreme(reached, nothing), reached)


def _best_ratio(favour: Tensor, weights: Tensor, mask: Tensor, kept: Tensor) -> Tensor:
    """Return the largest weighted mean of the logit margins of any n tokens, ``(B, 2, K)``, for each n in ``kept``."""
    ratio = _ratio_of_best(weights.masked_fill(~mask, -1)[:, None, None], favour, weights, kept)
    for _ in range(STEPS):
        gain = (weights[:, None, None] * (favour[:, None, None] - ratio.unsqueeze(-1))).nan_to_num(neginf=0)
        better = _ratio_of_best(gain.masked_fill(~mask[:, None, None], -torch.inf), favour, weights, kept)
        improved = better > ratio + 1e-12 * ratio.abs()
        if not improved.any():
            break
        ratio = torch.where(improved, better, ratio)
    return ratio


def _ratio_of_best(keys: Tensor, favour: Tensor, weights: Tensor, kept: Tensor) -> Tensor:
    """Return the weighted mean margin of the n tokens with the largest ``keys``, for n in ``kept``, ``(B, 2, K)``."""
    order = keys.expand(*kept.shape, -1).argsort(dim=-1, descending=True)
    place = (kept - 1).unsqueeze(-1)
    terms = torch.stack([weights * favour, weights])[:, :, None, None].expand(2, *order.shape)
    ordered = terms.gather(-1, order.expand(terms.shape)).cumsum(dim=-1)
    margins, total = ordered.gather(-1, place.expand(2, *place.shape)).squeeze(-1)
    return torch.where(total > 0, margins / total, -torch.inf)


WIDTH = 5
"""The width of the beam search: how many of the best sets of tokens are kept after each step."""


@torch.no_grad()
def beam_limits(observation: Observation, counts: Tensor, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """Estimate the smallest and largest AOPC of any ranking by beam search. The true limits may be wider.

    Args:
        observation: the batch; texts of at least two tokens.
        counts: int64 ``(B, K)``.
        width: W.
    Returns:
        Two ``(B, 2)``: comprehensiveness, sufficiency.
    """
    rows = [
        torch.stack([_searched(observation, counts, width, alone, sign) for alone in (False, True)], dim=1) for sign in (-1, 1)
    ]
    return rows[0], rows[1]


def _searched(observation: Observation, counts: Tensor, width: int, alone: bool, sign: int) -> Tensor:
    """Estimate by beam search the largest AOPC of any ranking, ``(B,)``, or the smallest if ``sign`` is -1."""
    extreme = torch.amax if sign > 0 else torch.amin
    mask, size = observation.ranked, observation.mask.shape[-1]
    always = (observation.mask & ~mask).unsqueeze(1)
    before = observation.confidence.unsqueeze(-1)
    chosen = torch.zeros(len(mask), 1, size, dtype=torch.bool, device=mask.device)
    score = before.new_zeros(len(mask), 1)
    for step in range(1, int(counts.max()) + 1):
        grown = (chosen.unsqueeze(2) | torch.eye(size, dtype=torch.bool, device=mask.device)).flatten(1, 2)
        possible = (~chosen & mask.unsqueeze(1)).flatten(1)
        kept = (grown if alone else ~grown) & mask.unsqueeze(1) | always
        fall = before - attention(observation, kept)
        times = (counts == step).sum(dim=-1, keepdim=True)
        total = score.repeat_interleave(size, dim=1) + times * fall
        look = total + 1e-6 * fall * (times == 0)  # between sizes that count, the better set so far goes on
        best = (sign * look).masked_fill(~possible, -torch.inf).topk(min(width, grown.shape[1]), dim=1)
        usable = best.values.isfinite()
        index = torch.where(usable, best.indices, best.indices[:, :1])
        over = (step > counts.amax(dim=-1))[:, None]
        chosen = grown.gather(1, index.unsqueeze(-1).expand(-1, -1, size))
        score = torch.where(over, extreme(score, dim=1, keepdim=True), total.gather(1, index))
    return extreme(score, dim=1) / counts.shape[1]
