"""The attention of all layers as one weight per token: attention rollout, or what the network itself defines."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attest.core.attention.rollout import attention_rollout
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation
from attest.models.offers import offers_of


def where_rollout_begins(observation: Observation) -> Tensor:
    """Return the weights ``(B, T)`` by which the last hidden states are pooled for the decision."""
    deciding = offers_of(observation.network).deciding
    return observation.attention if deciding is None else deciding(observation.mask)


def read_from_layers(observation: Observation, attention: Mapping[str, Tensor]) -> Tensor:
    """Combine the attention of all layers into one weight per token, ``(B, T)``; a text's weights sum to 1.

    Args:
        attention: of each layer, first to last, as in ``LayerObservation``.
    """
    explained = offers_of(observation.network).explained
    if explained is not None:
        return explained(attention, observation.texts, observation.predicted)
    return attention_rollout(attention, where_rollout_begins(observation))


def attention_maps(conditions: Mapping[str, LayerObservation]) -> dict[str, Tensor]:
    """Return each layer's attention, averaged over heads, ``(B, T, T)``, with keys such as ``<condition>_layer1``."""
    return {
        f"{name}_layer{place}": torch.where(observation.mask.unsqueeze(-1), weights.mean(dim=1), 0)
        for name, observation in conditions.items()
        for place, weights in enumerate(observation.attention.values(), start=1)
    }
