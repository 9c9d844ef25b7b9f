"""The explanation that attention inside layers gives: attention rollout, or a network's own reading of its maps."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attest.core.attention.rollout import attention_rollout
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation


def where_rollout_begins(observation: Observation) -> Tensor:
    """Return the weights of the last hidden states in the decision, ``(B, T)``: the network's ``deciding``, or attention."""
    deciding = getattr(observation.network, "deciding", None)
    return observation.attention if deciding is None else deciding(observation.mask)


def read_from_layers(observation: Observation, attention: Mapping[str, Tensor]) -> Tensor:
    """Return attention rollout, or the network's own ``explained`` reading of its attention maps, ``(B, T)``; sums to 1.

    Args:
        attention: of each layer, first to last, as in ``LayerObservation``.
    """
    explained = getattr(observation.network, "explained", None)
    if explained is not None:
        return explained(attention, observation.tokens, observation.mask, observation.predicted)
    return attention_rollout(attention, where_rollout_begins(observation))


def attention_maps(conditions: Mapping[str, LayerObservation]) -> dict[str, Tensor]:
    """Return the attention of each layer, mean over heads, ``(B, T, T)``, by ``<condition>_layer<l>``; 0 at padding."""
    return {
        f"{name}_layer{place}": torch.where(observation.mask.unsqueeze(-1), weights.mean(dim=1), 0)
        for name, observation in conditions.items()
        for place, weights in enumerate(observation.attention.values(), start=1)
    }
