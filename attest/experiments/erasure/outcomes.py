"""The predictions for texts without the first k tokens of a ranking, or without k random tokens.

Legend: B batch, R rankings, K sizes, T tokens, C classes.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from attest.core.randomness import random_permutations, stream
from attest.core.rounding import compared
from attest.experiments.erasure.operators import Operator, attention, bias_alone, is_pooled_linearly
from attest.experiments.sampling import among
from attest.models.observation import Observation

SHARES = (0.01, 0.05, 0.10, 0.20, 0.50)
"""The shares of a text's tokens that are erased (comprehensiveness), or kept (sufficiency), as in ERASER (DeYoung et al.
2020)."""


def sizes(lengths: Tensor, shares: tuple[float, ...] = SHARES) -> Tensor:
    """Return the number of tokens in each given share of a text, rounded up and at least 1, int64 ``(B, K)``.

    Args:
        lengths: int64 ``(B,)``, tokens of each text that may be erased.
        shares: K of them, in (0, 1].
    """
    exact = lengths.unsqueeze(-1).double() * torch.tensor(shares, dtype=torch.float64, device=lengths.device)
    return (exact - 1e-9).ceil().long().clamp(min=1)  # 0.1 * 30 is a little above 3


def ranks_of(explanations: Tensor, ids: Tensor, mask: Tensor, seed: int) -> Tensor:
    """Return each token's rank in each explanation. The largest weight ranks first; ties get a random order.

    Args:
        explanations: float ``(B, R, T)``, finite at real tokens.
        ids: int64 ``(B,)``, identities of the instances, which with the seed break ties.
        mask: bool ``(B, T)``, True at the tokens that are ranked.
    Returns:
        int64 ``(B, R, T)``, from 0; all others come last.
    """
    shuffled_BRT = random_permutations(stream(seed, "ties"), ids, 1, mask).expand(explanations.shape)
    keys_BRT = explanations.masked_fill(~mask.unsqueeze(1), -torch.inf).gather(-1, shuffled_BRT)
    order_BRT = shuffled_BRT.gather(-1, keys_BRT.argsort(dim=-1, descending=True, stable=True))
    return order_BRT.argsort(dim=-1)


def ranked_by(observation: Observation, explanations: Tensor, seed: int) -> Tensor:
    """Return each token's rank, int64 ``(B, R, T)``, by each of R explanations."""
    return ranks_of(explanations, observation.ids, observation.ranked, seed)


def random_ranks(ids: Tensor, mask: Tensor, draws: int, seed: int) -> Tensor:
    """Return each token's rank in random orders of the tokens, int64 ``(B, draws, T)``."""
    return random_permutations(stream(seed, "random sets"), ids, draws, mask).argsort(dim=-1)


def kept_sets(ranks: Tensor, counts: Tensor, mask: Tensor) -> Tensor:
    """Return masks of kept tokens, bool ``(B, 2, R, K, T)``: all but the k ranked first (row 0), only these (row 1).

    Args:
        ranks: int64 ``(B, R, T)``.
        counts: int64 ``(B, K)``.
        mask: bool ``(B, T)``.
    """
    first_BRKT = ranks.unsqueeze(2) < counts[:, None, :, None]
    return torch.stack([~first_BRKT, first_BRKT], dim=1) & mask[:, None, None, None]


Columns = dict[str, Tensor]


def on_part(measure: Callable[[Observation], Columns], observation: Observation, chosen: Tensor) -> Columns:
    """Measure only the texts that are ``chosen``, bool ``(B,)``; return columns ``(B,)`` with NaN for all other texts."""
    if chosen.all():
        return measure(observation)
    rows = chosen.nonzero().flatten()
    if not len(rows):
        return {}
    measured = measure(observation.part(rows))
    return {name: among(column, rows, len(chosen)) for name, column in measured.items()}


BOTH = slice(0, 2)


def outcomes_of(
    observation: Observation,
    ranks: Tensor,
    counts: Tensor,
    operator: Operator,
    kinds: slice = BOTH,
    draw: Tensor | None = None,
) -> Tensor:
    """Return the class probability without the k tokens ranked first (row 0), or with only these (row 1).

    Args:
        ranks: int64 ``(B, R, T)``, as ``ranks_of`` returns them.
        counts: int64 ``(B, K)``, at least 1.
        operator: one of ``operators()``.
        kinds: which rows are read.
        draw: int64 ``(R,)``, the draw of each ranking, for an operator that draws at random; None for the operator's own.
    Returns:
        ``(B, 2, R, K)``.
    """
    if operator is attention and is_pooled_linearly(observation):
        place = (counts - 1).clamp(max=ranks.shape[-1] - 1)[:, None, None].expand(-1, 2, ranks.shape[1], -1)
        return curves_of(observation, ranks).gather(-1, place)[:, kinds]
    different, which = counts.unique(dim=1, return_inverse=True)  # 1 % and 5 % of a short text are one token both
    kept = kept_sets(ranks, different, observation.mask)[:, kinds]
    if observation.spared is not None:
        kept = kept | observation.spared[:, None, None, None]
    if draw is not None:
        operator = partial(operator, draw=draw[:, None].expand(kept.shape[1:4]).flatten())
    return operator(observation, kept.flatten(1, 3)).unflatten(1, (-1, ranks.shape[1], different.shape[1]))[..., which]


def outcomes_of_draws(
    observation: Observation, ranks: Sequence[Tensor], counts: Tensor, draws: Sequence[Operator]
) -> Iterator[Tensor]:
    """Yield ``outcomes_of`` the rankings of each draw of an operator. A CPU reads draw by draw, an accelerator all together.

    Args:
        ranks: for each draw int64 ``(B, R, T)``.
        draws: the operator, once for each draw.
    """
    if len(draws) == 1 or counts.device.type == "cpu":
        return (outcomes_of(observation, each, counts, operator) for each, operator in zip(ranks, draws, strict=True))
    sizes = [each.shape[1] for each in ranks]
    which = torch.cat([torch.full((size,), place, device=counts.device) for place, size in enumerate(sizes)])
    return iter(outcomes_of(observation, torch.cat([*ranks], dim=1), counts, draws[0], draw=which).split(sizes, dim=2))


def curves_of(observation: Observation, ranks: Tensor) -> Tensor:
    """Return the class probability ``(B, 2, R, T)`` if the k tokens ranked first, or all others, get no attention."""
    assert observation.class_logits is not None
    weight = observation.attention.double()
    votes = weight.unsqueeze(-1) * observation.class_logits.double()
    terms_BCT = torch.cat([votes, weight.unsqueeze(-1)], dim=-1).transpose(1, 2)
    order_BRT = ranks.argsort(dim=-1)
    ordered_BRCT = (
        terms_BCT.unsqueeze(1)
        .expand(-1, ranks.shape[1], -1, -1)
        .gather(-1, order_BRT.unsqueeze(2).expand(-1, -1, terms_BCT.shape[1], -1))
    )
    sums = torch.stack([left_after_each(ordered_BRCT), ordered_BRCT.cumsum(dim=-1)], dim=1)
    logits, left = sums[:, :, :, :-1], sums[:, :, :, -1:]
    outcomes = (logits / torch.where(left > 0, left, 1)).softmax(dim=3)
    chosen = outcomes.gather(
        3, observation.predicted[:, None, None, None, None].expand(*outcomes.shape[:3], 1, outcomes.shape[-1])
    )
    return chosen.squeeze(3).where(left.squeeze(3) > 0, bias_alone(observation).double()[:, None, None, None])


def left_after_each(ordered: Tensor) -> Tensor:
    """Return for each entry of a row the sum of all later entries: ``(..., T)`` -> ``(..., T)``.

    It is added up from the end, for subtraction would lose small numbers: 1 + 3e-17 - 1 is 0.
    """
    from_each = ordered.flip(-1).cumsum(dim=-1).flip(-1)
    return functional.pad(from_each[..., 1:], (0, 1))


def area(before: Tensor, outcomes: Tensor) -> Tensor:
    """Compute AOPC ``(B, 2, R)``: the fall of the probability, averaged over K different numbers of erased tokens."""
    return before[:, None, None] - outcomes.mean(dim=-1)


def win_rate(aopc: Tensor, random: Tensor, within: float) -> Tensor:
    """Compute for each ranking the share of random token sets with a worse AOPC, ``(B, 2, R)``; ties count half.

    Worse is a smaller comprehensiveness (row 0) or a larger sufficiency (row 1).

    Args:
        aopc, random: of rankings and random rankings, ``(B, 2, R)`` and ``(B, 2, D)``, as ``area`` returns them.
        within: the largest difference that counts as a tie (see ``rounding``); equal sets can differ by the order of
            summation.
    """
    more = compared(aopc.unsqueeze(-1), random.unsqueeze(2), within)
    more[:, 1] *= -1
    return ((more + 1) / 2).mean(dim=-1).to(aopc)


def between_limits(aopc: Tensor, lower: Tensor, upper: Tensor, within: float) -> Tensor:
    """Compute NAOPC (Edin et al. 2024): AOPC on a scale from ``lower`` (0) to ``upper`` (1); NaN if both are equal."""
    width = upper - lower
    return torch.where(width > within, (aopc - lower) / width, torch.nan)
