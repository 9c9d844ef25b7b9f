"""Scores of explanations from further passes: with elements of embeddings dropped, or with random parameters.

Legend: B batch, T tokens, E embedding.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attest.core.measures import tau_b
from attest.core.memory import by_rows
from attest.core.randomness import random_uniforms, stream
from attest.models.contract import decided
from attest.models.inputs import Inputs, like
from attest.models.observation import Network, Observation, hooked, tables_of
from attest.models.prediction import predictions_of
from attest.models.variants import ACTIVATIONS, untouched


def soft_scores(observation: Observation, explanation: Tensor, seed: int) -> Tensor:
    r"""Compute normalised soft comprehensiveness and sufficiency (Zhao & Aletras 2023), ``(B, 2)``; higher is better.

    Each element of a token's embedding is kept with probability :math:`1 - a_i` (comprehensiveness) or :math:`a_i`
    (sufficiency), where a is the importance divided by its largest value in the text; spared tokens are kept whole.
    :math:`C = \max(0, f(x) - f(x'))`, :math:`S = 1 - \max(0, f(x) - f(x'))`; with S₀, the sufficiency of embeddings that are
    all 0, the columns are :math:`C / (1 - S_0)` and :math:`(S - S_0) / (1 - S_0)`. NaN where S₀ is 1.

    Args:
        explanation: float ``(B, T)``, at least 0.
        seed: with an instance's id it fixes which elements are dropped.
    """
    return _soft(observation, shares_of(observation, explanation), seed).squeeze(0)


def shares_of(observation: Observation, explanation: Tensor) -> Tensor:
    """Return importance divided by its largest value in the text, to drop and to keep elements by, ``(2, 1, B, T)``."""
    explanation = explanation.masked_fill(~observation.ranked, 0)
    share = explanation / explanation.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(explanation.dtype).tiny)
    return share.expand(2, 1, -1, -1)


AMOUNTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The values of π in the controlled soft scores: the expected share of the elements of all token embeddings that are kept; the
scores are means over these values."""
LEAST = 1e-6
"""Importance is scaled to become the probability of keeping a token's elements. Before that, this share of the text's largest
importance is added to that of each token, so that all tokens of importance 0 get the same probability above 0."""


def controlled_soft_scores(observation: Observation, explanation: Tensor, seed: int) -> Tensor:
    r"""Compute ``soft_scores`` ``(B, 2)``, but erase the same expected share of elements for every explanation.

    The probabilities are scaled, :math:`p_i = \min(1, c \, a_i)`, so that their mean over the ranked tokens of a text is the
    same for every explanation: π for keeping elements (sufficiency), and :math:`1 - \pi` for dropping them
    (comprehensiveness). The result is the mean over several π. Huang & Chan (2026) ask for the same expected amount; this
    scaling and these π are our choice.
    """
    return _soft(observation, controlled_shares_of(observation, explanation), seed).mean(dim=0)


def controlled_shares_of(observation: Observation, explanation: Tensor) -> Tensor:
    """Return importance scaled to the mean 1 - π, to drop elements by, and to π, to keep them by, ``(2, A, B, T)``."""
    scaled = _of_means(explanation.masked_fill(~observation.ranked, 0), observation.ranked)
    return torch.stack([scaled.flip(0), scaled])


def _of_means(importance: Tensor, ranked: Tensor) -> Tensor:
    """Scale importance ``(B, T)`` and cut it at 1, so that its mean over the ranked tokens becomes each of ``AMOUNTS``."""
    least = LEAST * importance.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(importance.dtype).tiny)
    exact = torch.where(ranked, importance + least, 0).double()
    values = exact.sort(dim=-1, descending=True).values
    place = torch.arange(values.shape[-1], device=values.device)
    rest = values.flip(-1).cumsum(dim=-1).flip(-1)  # of what is not cut, if so many as ``place`` are
    count = ranked.sum(dim=-1, keepdim=True)
    totals = torch.stack([mean * count for mean in AMOUNTS])
    scales = (totals - place) / rest.clamp(min=torch.finfo(torch.float64).tiny)
    fits = (scales * values <= 1) & (rest > 0)
    first = fits.byte().argmax(dim=-1, keepdim=True)
    return (exact * scales.gather(-1, first)).clamp(max=1).to(importance)


def soft_scores_of_each(observation: Observation, shares: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Return soft scores for several sets of shares, ``(B, 2)`` each, as a mean over A amounts; all are read together.

    Args:
        shares: ``(2, A, B, T)`` each, as ``shares_of`` and ``controlled_shares_of`` return them.
    """
    found = _soft(observation, torch.cat([*shares], dim=1), seed)
    return [each.mean(dim=0) for each in found.split([each.shape[1] for each in shares])]


def _soft(observation: Observation, shares: Tensor, seed: int) -> Tensor:
    """Compute soft comprehensiveness and sufficiency for A pairs of shares, ``(A, B, 2)``.

    Args:
        shares: ``(2, A, B, T)``, the probabilities with which embedding elements are dropped, and with which they are kept.
    """
    dropped, kept = shares
    draws = _uniforms(seed, observation)
    without = _falls(observation, dropped, lambda share: draws >= like(share, draws.unsqueeze(0)))
    kept = torch.cat([torch.zeros_like(kept[:1]), kept])  # first nothing
    alone = _falls(observation, kept, lambda share: draws < like(share, draws.unsqueeze(0)))
    rest, alone = alone[:1], alone[1:]  # 1 - S₀
    columns = torch.stack([without, rest - alone], dim=-1) / rest.unsqueeze(-1)
    return columns.where(rest.unsqueeze(-1) > 0, torch.nan)


def _falls(observation: Observation, shares: Tensor, left: Callable[[Tensor], Tensor]) -> Tensor:
    """Return how far the prediction falls if only some elements of embeddings are left, ``(V, B)``, at least 0.

    Args:
        shares: ``(V, B, T)``, of V variants. A CPU reads them one after another, an accelerator together.
        left: takes the shares of some variants to the elements that are left, bool ``(V, B, T, …)``.
    """
    embedded = observation.embedded.detach()
    always = like(observation.mask & ~observation.ranked, embedded)

    def of_variants(shares: Tensor) -> Tensor:
        return reading_embedded(observation, embedded * (left(shares) | always)).unflatten(0, shares.shape[:2])

    per_variant = 4 * observation.embedded.nbytes + ACTIVATIONS * observation.hidden.nbytes
    outcomes = by_rows(of_variants, per_variant, shares, budget=per_variant).transpose(0, 1)
    return (observation.confidence.unsqueeze(1) - observation.left_of_prediction(outcomes)).clamp(min=0).T


def _uniforms(seed: int, observation: Observation) -> Tensor:
    shape = observation.embedded.shape[1:]
    counters = [
        torch.arange(size, device=observation.ids.device).view(-1, *(1,) * (len(shape) - place - 1))
        for place, size in enumerate(shape)
    ]
    ids = like(observation.ids, observation.embedded)
    return random_uniforms(stream(seed, "dropped elements"), ids, *counters).to(observation.embedded.dtype)


@torch.no_grad()
def reading_embedded(observation: Observation, embedded: Tensor) -> Tensor:
    """Return predictions for given embeddings, which replace those of the tokens.

    Args:
        embedded: ``(B, T, …)``; or ``(V, B, T, …)`` for V variants of each text.
    Returns:
        ``(B, K)``, or ``(V B, K)``.
    """
    texts, several = observation.texts, embedded.ndim - observation.embedded.ndim
    if several:
        texts = texts.rows(torch.arange(len(texts.mask), device=texts.mask.device).repeat(len(embedded)))
        embedded = embedded.flatten(0, 1)
    return predictions_of(observation.network, logits_of(observation.network, texts, embedded))


def logits_of(network: Network, texts: Inputs, embedded: Tensor) -> Tensor:
    """Return a network's logits for given embeddings of its tokens, and keep the gradient graph."""

    def replace(_module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Any:
        return embedded if inputs[0].shape == texts.tokens.shape else None

    with hooked(tables_of(network), replace):
        hidden = texts.read_by(network.encode)
    with untouched(network):
        return decided(network, hidden, texts.mask, **texts.beside)


_RANDOMISED: WeakKeyDictionary[nn.Module, tuple[tuple[int, int], list[tuple[str, Network]]]] = WeakKeyDictionary()


@torch.no_grad()
def tau_randomised(observation: Observation, seed: int) -> dict[str, Tensor]:
    """Compute τ-b between a network's attention and that of each partly randomised copy, ``(B,)`` each.

    Returns:
        The τ-b of each copy, named by a part: ``decoder``, ``attention`` or ``encoder``. In this copy, the parameters of this
        part and of all parts between it and the output are random. NaN where the attention is constant.
    """
    mask, anew = observation.mask, {}
    for name, network in _made_from(observation.module, seed):
        anew[name] = network.project(network.score(observation.texts.read_by(network.encode), mask), mask)
    taus = tau_b(observation.attention, torch.stack(list(anew.values()), dim=1), mask)
    return dict(zip(anew, taus.unbind(dim=1), strict=True))


def _made_from(network: nn.Module, seed: int) -> list[tuple[str, Network]]:
    """Return copies of a network; from copy to copy, the parameters of one more part are shuffled randomly."""
    state = seed, sum(parameter._version for parameter in network.parameters())
    known = _RANDOMISED.get(network)
    if known is None or known[0] != state:
        known = _RANDOMISED[network] = state, list(_from_the_top(network, seed))
    return known[1]


def _from_the_top(network: nn.Module, seed: int) -> Iterator[tuple[str, Network]]:
    current = deepcopy(network)
    parts = [name for name, part in current.named_children() if any(True for _ in part.parameters())]
    for name in reversed(parts):
        generator = torch.Generator().manual_seed(stream(seed, f"{name} made anew"))
        for parameter in getattr(current, name).parameters():  # its entries are shuffled: same scale, nothing learned
            order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
            parameter.data = parameter.data.flatten()[order].view_as(parameter)
        yield name, cast(Network, deepcopy(current))
