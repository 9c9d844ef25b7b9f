"""Sinks: tokens that get much attention from a head whatever the text says (Xiao et al. 2024).

Legend: B batch, N heads, T tokens.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from attest.experiments.spec import Column
from attest.models.layers_observed import LayerObservation, layers_of
from attest.models.observation import Observation, cached_per_batch
from attest.models.offers import offers_of
from attest.models.traits import traits_of

RECEIVED = 0.3
"""A token is a sink only if it gets at least this much attention, as a mean over the other tokens that may attend to it (Gu et
al. 2025)."""
SHORT = 0.5
"""A sink has a short value vector: at most this many times as long as the median value vector of its text."""
ROWS = 2
"""A token can only count as a sink if at least this many other tokens may attend to it. To the last tokens of a decoder hardly
any token attends, so too little is known of them."""
HEADS = 0.1
"""A token that is a sink in at least this share of all heads is left out of results that are not about a single head."""
WITHOUT = "_without_sink"
"""The suffix of the columns that are computed without attention sinks, which are tokens that get much attention whatever the
text says."""


def parks_attention(network: object) -> bool:
    """Return whether a network is a decoder; heads of decoders often give much attention to a sink."""
    return traits_of(network).looks_back


def shows_sinks(network: object) -> bool:
    """Return whether sinks can be measured in a network, which must show the output of each head."""
    return offers_of(network).sides is None and traits_of(network).shows_outputs


def has_sinks(network: object) -> bool:
    """Return whether a network is a decoder in which sinks can be measured."""
    return parks_attention(network) and shows_sinks(network)


@torch.no_grad()
def sinks_of(observation: LayerObservation) -> dict[str, Tensor]:
    """Return for each layer which tokens are sinks of each head, bool ``(B, N, T)``.

    A token is a sink under three conditions. At least ``ROWS`` other tokens may attend to it. These tokens give it, on
    average, at least ``RECEIVED`` of their attention. Its value is at most ``SHORT`` times as long as the median value of the
    text.
    """
    mask = observation.mask
    others = ~torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device) & mask.unsqueeze(-1) & mask.unsqueeze(1)
    sinks, values = {}, observation.values()
    for layer, weights in observation.attention.items():
        seen = others.unsqueeze(1) & (weights > 0)  # a weight of 0 is one that the mask forbids
        count = seen.sum(dim=2)
        received = weights.where(seen, 0).sum(dim=2) / count.clamp(min=1)
        lengths = values[layer].norm(dim=-1).masked_fill(~mask.unsqueeze(1), torch.nan)
        short = lengths <= SHORT * lengths.nanmedian(dim=-1, keepdim=True).values
        sinks[layer] = (received >= RECEIVED) & short & (count >= ROWS)
    return sinks


@cached_per_batch
def tokens_that_are_sinks(observation: Observation) -> Tensor:
    """Return the tokens that are sinks of at least a tenth of all heads, bool ``(B, T)``."""
    sinks = sinks_of(layers_of(observation))
    return torch.cat([*sinks.values()], dim=1).double().mean(dim=1) >= HEADS


LEFT_OUT = "over all tokens but sinks of a tenth of the heads"
SPARED = "while the sinks of each head keep their weight"
"""A phrase for the descriptions of columns. It says that attention is changed everywhere but at the sinks of each head."""
BEFORE = "(before 0.3.0: the first token)"
"""For descriptions of columns, a remark: versions before 0.3.0 did not measure which tokens are sinks, and took the first
token."""


def columns_of_decoders(columns: Sequence[Column], how: str) -> tuple[Column, ...]:
    """Return copies of columns for decoders; ``how`` says in words how sinks are treated.

    A copy stands beside the copy of what its column stands beside, where there is one.
    """
    names = [each.name for each in columns]

    def copy(column: Column) -> Column:
        name = f"{column.name}{WITHOUT}"
        if not column.title:
            return replace(column, name=name, means=f"as `{column.name}`, {how} {BEFORE}", only="decoders")
        beside = column.beside
        return replace(
            column,
            name=name,
            means=f"As “{column.title}”, {how} {BEFORE}. A sink is a token that gets much attention whatever the text says.",
            only="decoders",
            title=f"{column.title}, without sinks",
            beside=(beside[0], f"{beside[1]}{WITHOUT}") if beside and beside[1] in names else beside,
            short=None,
        )

    return tuple(map(copy, columns))


def and_for_decoders(columns: Sequence[Column], how: str) -> tuple[Column, ...]:
    """Return column descriptions, followed by their copies for decoders, as in ``columns_of_decoders``."""
    return (*columns, *columns_of_decoders(columns, how))
