"""Scores of explanations from further passes: with elements of embeddings dropped, or with random parameters.

Legend: B batch, T tokens, E embedding.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attest.core.measures import tau_b
from attest.core.randomness import random_uniforms, stream
from attest.models.contract import decided
from attest.models.inputs import Inputs, like
from attest.models.observation import Network, Observation, cached_per_batch, hooked, tables_of
from attest.models.prediction import predictions_of
from attest.models.variants import untouched


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
    explanation = explanation.masked_fill(~observation.ranked, 0)
    share = explanation / explanation.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(explanation.dtype).tiny)
    return _soft(observation, share, share, _uniforms(seed, observation))


AMOUNTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The shares of elements that are kept, π."""
PAIRS = tuple(zip(AMOUNTS, reversed(AMOUNTS), strict=True))
"""What is kept, and what is dropped."""
LEAST = 1e-6
"""What is added to an importance, over its largest, so that tokens without any are kept alike once all others are."""


def controlled_soft_scores(observation: Observation, explanation: Tensor, seed: int) -> Tensor:
    r"""Compute ``soft_scores`` ``(B, 2)``, but erase the same expected share of elements for every explanation.

    The probabilities are scaled, :math:`p_i = \min(1, c \, a_i)`, so that their mean over the ranked tokens of a text is the
    same for every explanation: π for keeping elements (sufficiency), and :math:`1 - \pi` for dropping them
    (comprehensiveness). The result is the mean over several π. Huang & Chan (2026) ask for the same expected amount; this
    scaling and these π are our choice.
    """
    explanation = explanation.masked_fill(~observation.ranked, 0)
    scaled = {mean: _of_mean(explanation, observation.ranked, mean) for mean in AMOUNTS}
    draws = _uniforms(seed, observation)
    return torch.stack([_soft(observation, scaled[rest], scaled[kept], draws) for kept, rest in PAIRS]).mean(dim=0)


def _of_mean(importance: Tensor, ranked: Tensor, mean: float) -> Tensor:
    """Scale importance ``(B, T)`` and cut it at 1, so that its mean over the ranked tokens becomes ``mean``."""
    least = LEAST * importance.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(importance.dtype).tiny)
    exact = torch.where(ranked, importance + least, 0).double()
    values = exact.sort(dim=-1, descending=True).values
    place = torch.arange(values.shape[-1], device=values.device)
    rest = values.flip(-1).cumsum(dim=-1).flip(-1)  # of what is not cut, if so many as ``place`` are
    scales = (mean * ranked.sum(dim=-1, keepdim=True) - place) / rest.clamp(min=torch.finfo(torch.float64).tiny)
    fits = (scales * values <= 1) & (rest > 0)
    first = fits.byte().argmax(dim=-1, keepdim=True)
    return (exact * scales.gather(-1, first)).clamp(max=1).to(importance)


def _soft(observation: Observation, dropped: Tensor, kept: Tensor, draws: Tensor) -> Tensor:
    """Compute soft comprehensiveness and sufficiency, ``(B, 2)``; embedding elements are dropped or kept by random draws."""
    without, alone = (_fall(observation, left) for left in (draws >= like(dropped, draws), draws < like(kept, draws)))
    rest = _fall_to_nothing(observation).unsqueeze(-1)  # 1 - S₀
    columns = torch.stack([without, rest.squeeze(-1) - alone], dim=-1) / rest
    return columns.where(rest > 0, torch.nan)


@cached_per_batch
def _fall_to_nothing(observation: Observation) -> Tensor:
    """Return how far the prediction falls if all elements of all embeddings are dropped, ``(B,)``, at least 0."""
    return _fall(observation, torch.zeros_like(observation.embedded, dtype=torch.bool))


def _fall(observation: Observation, left: Tensor) -> Tensor:
    """Return how far the prediction falls if only these elements of embeddings are left, ``(B,)``, at least 0."""
    always = like(observation.mask & ~observation.ranked, left)
    outcome = reading_embedded(observation, observation.embedded.detach() * (left | always))
    return (observation.confidence - observation.left_of_prediction(outcome)).clamp(min=0)


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
    """Return the prediction ``(B, K)`` for given embeddings, which replace those of the tokens."""
    logits = logits_of(observation.network, observation.texts, embedded)
    return predictions_of(observation.network, logits)


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
    for name, network in _made_from(cast(nn.Module, observation.network), seed):
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
