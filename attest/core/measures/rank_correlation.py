"""Agreement of two rankings of the tokens of each text: Kendall's tau-b, and measures of the top k tokens.

Legend: B batch, T tokens.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from attest.core.measures.inversions import dense_ranks, dense_ranks_of_sorted, inversions
from attest.core.memory import by_rows, sort_rows


class KendallTau(NamedTuple):
    """The results of ``kendall_tau_b``, float64 ``(B,)``; NaN for one token or NaN scores, and for constant scores, where
    ``tau_a`` alone is 0."""

    tau: Tensor
    """float64 ``(B,)``: Kendall's tau-b, in [-1, 1]."""
    p_value: Tensor
    """float64 ``(B,)``: the two-sided p-value of tau, from the normal approximation with a correction for ties."""
    ceiling: Tensor
    """float64 ``(B,)``: the largest |tau| that the ties in both inputs allow, in (0, 1]."""
    concordant: Tensor
    """float64 ``(B,)``: the share of token pairs, tied in neither input, that both inputs put in the same order, in [0, 1];
    without ties it is (tau + 1) / 2."""
    tau_a: Tensor
    """float64 ``(B,)``: Kendall's tau-a, the number of concordant minus that of discordant pairs, divided by the number of all
    pairs, in [-1, 1]. Unlike the other results it is 0, and not NaN, if all scores are equal."""

    @property
    def significant(self) -> Tensor:
        """Return for each text 1 if its correlation has p < 0.05, else 0; NaN if undefined."""
        return (self.p_value < 0.05).double().masked_fill_(self.p_value.isnan(), torch.nan)


def kendall_tau_b(x: Tensor, y: Tensor, mask: Tensor) -> KendallTau:
    r"""Compute Kendall's tau-b (Kendall 1945) between two scores of the real tokens of each text.

    With :math:`n_0` pairs, :math:`n_1, n_2` of them tied in x and y,
    :math:`\tau_b = (n_c - n_d) / \sqrt{(n_0 - n_1)(n_0 - n_2)}` and
    :math:`|\tau_b| \le \sqrt{(n_0 - \max(n_1, n_2)) / (n_0 - \min(n_1, n_2))}`.

    Args:
        x, y: float ``(B, T)``, finite at real tokens; NaN at one of them makes the text's tau NaN.
        mask: bool ``(B, T)``, True at the tokens to rank.
    """
    pairs = _compare(x, y, mask)
    untied_x, untied_y = pairs.all - pairs.tied_x, pairs.all - pairs.tied_y
    fewer, more = torch.minimum(untied_x, untied_y), torch.maximum(untied_x, untied_y)
    unknown = ((x.isnan() | y.isnan()) & mask).any(dim=-1)
    columns = (
        (pairs.balance / (untied_x * untied_y).sqrt()).clamp(-1, 1),
        torch.special.erfc(pairs.balance.abs() / pairs.null_variance.sqrt() / 2**0.5),
        (fewer / more).sqrt(),
        (1 + pairs.balance / pairs.untied) / 2,
    )
    tau, p_value, ceiling, concordant = torch.stack(columns).masked_fill(unknown | (fewer <= 0), torch.nan)
    return KendallTau(tau, p_value, ceiling, concordant, (pairs.balance / pairs.all).masked_fill(unknown, torch.nan))


def kendall_tau_b_of_each(pairs: Iterable[tuple[Tensor, Tensor, Tensor]]) -> KendallTau:
    """Compute ``kendall_tau_b`` for N pairs of scores at once; an accelerator then launches as much as for one pair.

    Args:
        pairs: N times the arguments of ``kendall_tau_b``, ``(B, T)`` each.
    Returns:
        As ``kendall_tau_b``, but ``(N, B)``.
    """
    arguments = [torch.stack(each) for each in zip(*pairs, strict=True)]
    found = kendall_tau_b(*(each.flatten(0, 1) for each in arguments))
    return KendallTau(*(each.unflatten(0, arguments[0].shape[:2]) for each in found))


def tau_b(x: Tensor, others: Tensor, mask: Tensor) -> Tensor:
    """Compute Kendall's tau-b between ``x`` and each of the K scores in ``others``, without p-values.

    Args:
        x: float ``(B, T)``, finite at real tokens.
        others: float ``(B, K, T)``, finite at real tokens. NaN at a real token, here or in ``x``, makes the tau NaN.
        mask: bool ``(B, T)``, True at real tokens.
    Returns:
        float64 ``(B, K)``.
    """
    first, real = (each.unsqueeze(1).expand(others.shape).flatten(0, 1) for each in (x, mask))
    return kendall_tau_b(first, others.flatten(0, 1), real).tau.unflatten(0, others.shape[:2])


def critical_tau(length: float, z: float = 1.959964) -> float:
    """Compute the smallest |tau| with p < 0.05 for a text without ties, for example 0.33 for 19 tokens."""
    return z * math.sqrt(2 * (2 * length + 5) / (9 * length * (length - 1))) if length > 1 else math.nan


def kendall_top_k(x: Tensor, y: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    r"""Compute the agreement of two top-k lists by Kendall's tau (Fagin et al. 2003).

    Each score ranks the tokens with its k largest values; all other tokens are tied below them. A pair that is tied in one
    list neither agrees nor disagrees. The result is 1 for equal lists, tau-a for two lists of the same tokens, and
    :math:`-k / (2k - 1)` for two lists of k tokens without a common token.

    Args:
        x, y: float ``(B, T)``, finite at real tokens.
        k: int64 ``(B,)``, at least 1; all tokens that tie at the k-th place are in the list.
        mask: bool ``(B, T)``, True at the tokens to rank.
    Returns:
        float64 ``(B,)`` in [-1, 1]; NaN if the two lists together have fewer than two tokens, or if an input is NaN.
    """
    return kendall_tau_b(*top_k_lists(x, y, k, mask)).tau_a


def top_k_lists(x: Tensor, y: Tensor, k: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return two scores that are -inf outside their own top k, and the tokens to rank, which are those in either list.

    Args:
        x, k, mask: as in ``kendall_top_k``, which is the ``tau_a`` of what is returned.
        y: float ``(..., B, T)``.
    Returns:
        Two floats ``(..., B, T)`` and a bool ``(..., B, T)``.
    """
    scores = torch.stack(torch.broadcast_tensors(x, y)).masked_fill(~mask, -torch.inf)
    last = scores.sort(dim=-1, descending=True).values.gather(-1, (k - 1).unsqueeze(-1).expand(*scores.shape[:-1], 1))
    top_x, top_y = tops = scores.masked_fill(scores < last, -torch.inf)
    return top_x, top_y, (tops != -torch.inf).any(dim=0) & mask


class _Pairs(NamedTuple):
    """Counts of token pairs for Kendall's tau, such as the tied pairs, float64 ``(B,)`` each."""

    all: Tensor
    tied_x: Tensor
    tied_y: Tensor
    untied: Tensor
    """float64 ``(B,)``: the number of pairs tied in neither x nor y; at least one unless x or y is constant."""
    balance: Tensor
    """float64 ``(B,)``: the number of concordant pairs minus the number of discordant pairs."""
    null_variance: Tensor
    """float64 ``(B,)``: the variance of ``balance`` under the hypothesis that x and y are independent."""


def _compare(x: Tensor, y: Tensor, mask: Tensor) -> _Pairs:
    return _Pairs(*by_rows(_count, 6 * x.element_size() * mask.shape[-1], x, y, mask).unbind(dim=-1))


def _count(x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    """Count the token pairs of each kind in ``_Pairs``, ``(B, 6)``, by Knight's method (1966)."""
    size, n, padding = mask.shape[-1], mask.sum(dim=-1), ~mask
    scores = torch.stack([x, y]).masked_fill_(padding, torch.inf)
    ranks_x, ranks_y = dense_ranks(scores).masked_fill_(padding, size - 1)
    joint = sort_rows(ranks_x * size + ranks_y)
    first_n = torch.arange(size, device=mask.device) < n.unsqueeze(-1)
    ranks = torch.stack([ranks_x, ranks_y, dense_ranks_of_sorted(joint)])
    ties_3BT = _others(ranks, torch.stack([mask, mask, first_n]))
    tied_x, tied_y, tied_both = ties_3BT.sum(dim=-1) / 2
    n = n.double()
    pairs = n * (n - 1) / 2
    untied = pairs - tied_x - tied_y + tied_both
    balance = untied - 2 * inversions(joint % size).double()
    return torch.stack([pairs, tied_x, tied_y, untied, balance, _null_variance(n, ties_3BT[:2])], dim=-1)


def _others(ranks: Tensor, mask: Tensor) -> Tensor:
    """Count for each token how many other tokens have an equal rank, float64 ``(B, T)``; 0 outside the mask."""
    sizes = torch.zeros_like(ranks).scatter_add_(-1, ranks, torch.ones_like(ranks)).gather(-1, ranks)
    return sizes.double().sub_(1).mul_(mask)


def _null_variance(n: Tensor, ties_2BT: Tensor) -> Tensor:
    """Compute the variance of (concordant - discordant) pair counts for independent x and y (Kendall 1970).

    A group of t ties has t members with t - 1 others each, so sums over groups become sums over tokens.
    """
    ordered = n * (n - 1)
    squares_2B, pairs_2B = ties_2BT.square().sum(dim=-1), ties_2BT.sum(dim=-1)
    triples_x, triples_y = squares_2B - pairs_2B
    spread = (2 * squares_2B + 7 * pairs_2B).sum(dim=0)
    third_order = (triples_x * triples_y / (9 * ordered * (n - 2))).masked_fill_(n <= 2, 0.0)
    return (ordered * (2 * n + 5) - spread) / 18 + pairs_2B.prod(dim=0) / (2 * ordered) + third_order


def top_k_overlap(x: Tensor, y: Tensor, k: int, mask: Tensor) -> Tensor:
    r"""Compute the share of tokens that two top-k lists have in common, :math:`|A \cap B| / k`.

    If tokens tie at the k-th place, the last places of a list are filled by a random choice among these tokens. The result is
    the expected overlap.

    Args:
        x, y: float ``(B, T)``, finite at real tokens.
        k: at least 1.
        mask: bool ``(B, T)``, True at the tokens to rank.
    Returns:
        float64 ``(B,)`` in [0, 1]; NaN if a text has no more than k tokens, because all rankings then share them, or if an
        input is NaN.
    """
    overlap = (_membership(x, k, mask) * _membership(y, k, mask)).sum(dim=-1) / k
    undefined = (mask.sum(dim=-1) <= k) | ((x.isnan() | y.isnan()) & mask).any(dim=-1)
    return overlap.masked_fill(undefined, torch.nan)


def _membership(scores: Tensor, k: int, mask: Tensor) -> Tensor:
    """Compute the probability that each token is among the k largest scores, ``(B, T)``, with random tie-breaking."""
    scores = scores.masked_fill(~mask, -torch.inf)
    last_B1 = scores.topk(min(k, scores.shape[-1]), dim=-1).values[:, -1:]
    above, tied = scores > last_B1, (scores == last_B1) & mask
    left_B1 = k - above.sum(dim=-1, keepdim=True)
    return above.double() + tied * (left_B1.double() / tied.sum(dim=-1, keepdim=True))
