r"""The most and the least that erasing k tokens can do under ``attention``, whichever tokens they are.

With two classes and a linear decoder the outcome of keeping a set is the sigmoid of
:math:`\sum_{kept} \alpha_i m_i / \sum_{kept} \alpha_i`, which Dinkelbach's iteration (1967) maximises over sets of a size: for
the best ratio so far, :math:`\lambda`, take the tokens with the largest :math:`\alpha_i (m_i - \lambda)`; where their sum is
positive their ratio is better. Each size is solved by itself, so the sets need not lie in one another: no ranking need reach
all of these limits at once.

Legend: B batch, K sizes, T tokens.
"""

import torch
from torch import Tensor

from attest.experiments.erasure.operators import bias_alone, is_pooled_linearly
from attest.models.observation import Observation

STEPS = 50
"""Far more than needed: the ratio grows in every step, and there are few sets that can be best; 5 were the most seen."""


def has_exact_limits(observation: Observation) -> bool:
    """Whether the limits are known: two classes, a linear decoder, and no tokens that attend to one another."""
    return observation.margins is not None and is_pooled_linearly(observation)


@torch.no_grad()
def exact_limits(observation: Observation, counts: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the greatest fall of the predicted class's probability over all sets of a size.

    Args:
        observation: with two classes and a linear decoder.
        counts: int64 ``(B, K)``, tokens erased, or, in row 1, kept; less than the text has.
    Returns:
        Two float64 ``(B, 2, K)``: erasing k tokens in row 0 (comprehensiveness), all but k in row 1 (sufficiency).
    """
    assert observation.margins is not None
    favour = torch.where(observation.predicted == 1, 1, -1).unsqueeze(-1) * observation.margins
    kept = torch.stack([observation.lengths.unsqueeze(-1) - counts, counts], dim=1)
    weights, mask, nothing = observation.attention.double(), observation.mask, bias_alone(observation).double()
    highest = _with_nothing_attended(_best_ratio(favour, weights, mask, kept), weights, mask, kept, nothing)
    lowest = _with_nothing_attended(-_best_ratio(-favour, weights, mask, kept), weights, mask, kept, nothing, least=True)
    before = observation.probabilities.double().gather(-1, observation.predicted.unsqueeze(-1)).unsqueeze(-1)
    return before - highest, before - lowest


def _best_ratio(favour: Tensor, weights: Tensor, mask: Tensor, kept: Tensor) -> Tensor:
    """Largest Σ w m / Σ w over sets of each size with some weight in them, ``(B, 2, K)``; -inf where there is none."""
    ratio = _ratio_of_best(weights.masked_fill(~mask, -1), favour, weights, kept)
    for _ in range(STEPS):
        gain = (weights[:, None, None] * (favour[:, None, None] - ratio.unsqueeze(-1))).nan_to_num(neginf=0)
        better = _ratio_of_best(gain.masked_fill(~mask[:, None, None], -torch.inf), favour, weights, kept)
        improved = better > ratio + 1e-12 * ratio.abs()
        if not improved.any():
            break
        ratio = torch.where(improved, better, ratio)
    return ratio


def _ratio_of_best(keys: Tensor, favour: Tensor, weights: Tensor, kept: Tensor) -> Tensor:
    """The ratio of the tokens with the largest keys, ``(B, T)`` or ``(B, 2, K, T)``; as many as are kept."""
    keys = keys if keys.ndim == 4 else keys[:, None, None]
    order = keys.expand(*kept.shape, -1).argsort(dim=-1, descending=True)
    place = (kept - 1).unsqueeze(-1)
    sums = [
        each[:, None, None].expand(order.shape).gather(-1, order).cumsum(dim=-1).gather(-1, place).squeeze(-1)
        for each in (weights * favour, weights)
    ]
    return torch.where(sums[1] > 0, sums[0] / sums[1], -torch.inf)


def _with_nothing_attended(
    ratio: Tensor, weights: Tensor, mask: Tensor, kept: Tensor, nothing: Tensor, least: bool = False
) -> Tensor:
    """The probability; where as many tokens as are kept have no weight at all, what the bias alone decides is reached too."""
    reached = ratio.sigmoid()
    idle = ((weights == 0) & mask).sum(dim=-1)
    possible = idle[:, None, None] >= kept
    other = nothing[:, None, None].expand_as(reached)
    reached = torch.where(ratio.isfinite(), reached, other)
    extreme = torch.minimum(reached, other) if least else torch.maximum(reached, other)
    return torch.where(possible, extreme, reached)
