"""Parameter randomisation (Adebayo et al. 2018): does the attention depend on what was learned?"""

from collections.abc import Iterator
from copy import deepcopy
from typing import cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attest.core.measures import tau_b
from attest.core.randomness import stream
from attest.models.observation import Network, Observation

_RANDOMISED: WeakKeyDictionary[nn.Module, tuple[tuple[int, int], list[tuple[str, Network]]]] = WeakKeyDictionary()


@torch.no_grad()
def tau_randomised(observation: Observation, seed: int) -> dict[str, Tensor]:
    """τ-b of the attention with itself once parts of the network, from the top, have been made anew: ``(B,)`` for each.

    Args:
        observation: the batch.
        seed: of the new parameters.
    Returns:
        By the name of the last part made anew, those above it being new too: ``decoder``, ``attention``, ``encoder``. NaN
        where the attention is constant.
    """
    anew = {name: _attention(network, observation) for name, network in _made_from(cast(nn.Module, observation.network), seed)}
    taus = tau_b(observation.attention, torch.stack(list(anew.values()), dim=1), observation.mask)
    return dict(zip(anew, taus.unbind(dim=1), strict=True))


def _made_from(network: nn.Module, seed: int) -> list[tuple[str, Network]]:
    """The copies, kept as long as neither the network's parameters nor the seed change."""
    state = seed, sum(parameter._version for parameter in network.parameters())
    known = _RANDOMISED.get(network)
    if known is None or known[0] != state:
        known = _RANDOMISED[network] = state, list(_from_the_top(network, seed))
    return known[1]


def _attention(network: Network, observation: Observation) -> Tensor:
    return network.project(
        network.score(network.encode(observation.tokens, observation.mask), observation.mask), observation.mask
    )


def _from_the_top(network: nn.Module, seed: int) -> Iterator[tuple[str, Network]]:
    """Copies in which more and more parts are new; parts are the network's own, last to first."""
    current = deepcopy(network)
    parts = [name for name, part in current.named_children() if any(True for _ in part.parameters())]
    for name in reversed(parts):
        _make_anew(getattr(current, name), stream(seed, f"{name} made anew"))
        yield name, cast(Network, deepcopy(current))


def _make_anew(part: nn.Module, seed: int) -> None:
    """Every parameter of the part takes the values of its own entries in a random order: same scale, nothing learned."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in part.parameters():
        order = torch.randperm(parameter.numel(), generator=generator).to(parameter.device)
        parameter.data = parameter.data.flatten()[order].view_as(parameter)
