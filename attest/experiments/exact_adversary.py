r"""The exact search for the most different attention with the same prediction, for a linear decoder and two classes.

The prediction is :math:`\sigma(\alpha \cdot m)`, where :math:`m_i` is the margin that token i alone would decide by. So the
attentions with TVD at most epsilon are those of the simplex with :math:`lo \le \alpha \cdot m \le hi`, a slab. JSD to the
attention on trial is convex, so it is largest at an extreme point of that slab, and these have one or two tokens: a token
inside the slab, or the point of an edge between two tokens where :math:`\alpha \cdot m` is lo or hi. O(T^2), closed form.

Legend: B batch, T tokens; an ordered pair (i, j) is a cell of (T, T).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attest.core.memory import by_rows
from attest.experiments.spec import LN2

TENSORS_A_PAIR = 12
"""To estimate memory: how many float64 numbers exist at once, at most, for each pair of tokens of a text."""


class Adversary(NamedTuple):
    """The attention that differs most (JSD) from the model's and hardly moves the prediction, and how much it differs."""

    jsd: Tensor
    """float64 ``(B,)``, in [0, ln 2]: the JSD between ``attention`` and the model's attention."""
    attention: Tensor
    """float64 ``(B, T)``: the attention that was found: of all attentions with nearly the same prediction, the one with the
    largest JSD to the model's own. At most two tokens have weight, and rows sum to 1."""


def exact_adversary(margins: Tensor, attention: Tensor, predicted: Tensor, mask: Tensor, epsilon: float) -> Adversary:
    """Find the attention that differs most (JSD) from the model's and moves the prediction by at most ``epsilon``.

    Args:
        margins, attention, predicted, mask: as in ``exact_adversaries``.
        epsilon: how far the prediction may move, in (0, 1).
    """
    return exact_adversaries(margins, attention, predicted, mask, (epsilon,))[0]


def exact_adversaries(
    margins: Tensor, attention: Tensor, predicted: Tensor, mask: Tensor, epsilons: Sequence[float]
) -> list[Adversary]:
    """Find the ``exact_adversary`` for each of several distances that the prediction may move; all are computed at once.

    Args:
        margins: float64 ``(B, T)``; in float32 a third of the optima would leave the slab by rounding.
        attention: ``(B, T)``, the attention on trial.
        predicted: ``(B,)``, probability of class 1 under it.
        mask: bool ``(B, T)``, True at real tokens.
        epsilons: each in (0, 1).
    """
    low, high = (borders.flatten() for borders in slabs(predicted, epsilons))
    per_text, times = TENSORS_A_PAIR * mask.shape[-1] ** 2 * margins.element_size(), len(epsilons)
    given = [each.repeat(times, 1) if times > 1 else each for each in (margins.double(), attention.double(), mask)]
    solved = by_rows(_solve, per_text, *given, low, high)
    return [Adversary(each[:, 0], each[:, 1:]) for each in solved.chunk(times)]


def slabs(predicted: Tensor, epsilons: Sequence[float]) -> Tensor:
    """Return the least and the greatest logits whose probabilities differ from ``predicted (B,)`` by at most each epsilon.

    Returns:
        float64 ``(2, E, B)`` for E epsilons, the least logits first.
    """
    predicted = predicted.double()
    borders = torch.stack([predicted + sign * each for sign in (-1, 1) for each in epsilons])
    return borders.clamp(0, 1).logit().unflatten(0, (2, -1))


def _solve(margins: Tensor, attention: Tensor, mask: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Find the attention on at most two tokens with the largest JSD; return this JSD and the attention, ``(B, 1 + T)``.

    Each cell (i, j) is one candidate. A cell of the diagonal is the attention on one token. The edge between tokens i and j
    has two cells: if i has the larger margin, cell (i, j) is the point at ``high`` and cell (j, i) is the point at ``low``.
    """
    size = mask.shape[-1]
    of_i, of_j = margins.unsqueeze(2), margins.unsqueeze(1)
    border = torch.where(of_i > of_j, high[:, None, None], low[:, None, None])
    share = (border - of_j) / (of_i - of_j)  # of i where the edge meets the border; outside [0, 1] or NaN if it does not
    inside = (margins >= low.unsqueeze(-1)) & (margins <= high.unsqueeze(-1))
    share.diagonal(dim1=1, dim2=2).copy_(torch.where(inside, 1.0, torch.nan))
    possible = share.clamp(0, 1)
    allowed = mask.unsqueeze(1) & mask.unsqueeze(2) & (share == possible)
    jsd = _jsd_of_two_tokens(possible, attention).masked_fill_(~allowed, -1)
    best, cell = jsd.flatten(1).max(dim=-1, keepdim=True)
    share = share.flatten(1).gather(-1, cell)
    weights = torch.zeros_like(margins).scatter(-1, cell // size, share).scatter_add(-1, cell % size, 1 - share)
    return torch.cat([best.clamp(min=0), weights], dim=-1)


def _jsd_of_two_tokens(share: Tensor, attention: Tensor) -> Tensor:
    r"""Return, for each pair of tokens, the JSD between ``attention`` and an attention on this pair only, ``(B, T, T)``.

    With p the weights on the two tokens and q the attention on them, and because both distributions sum to 1, it is
    :math:`\ln 2 + \frac12 \sum [p \ln p + q \ln q - (p + q) \ln (p + q)]`.
    """
    of_i, of_j = attention.unsqueeze(2), attention.unsqueeze(1)
    alone = torch.eye(attention.shape[-1], dtype=torch.bool, device=attention.device)
    of_j, rest = of_j.masked_fill(alone, 0), 1 - share
    apart = _times_log(share).add_(_times_log(rest)).sub_(_times_log(share + of_i)).sub_(_times_log(rest.add_(of_j)))
    return LN2 + 0.5 * apart.add_(_times_log(of_i)).add_(_times_log(of_j))


def _times_log(p: Tensor) -> Tensor:
    if p.device.type != "cpu":
        return torch.xlogy(p, p)  # one kernel; on a CPU it is three times slower
    return p.clamp(min=torch.finfo(p.dtype).tiny).log_().mul_(p)
