"""Attention maps for figures: which token attends to which, layer by layer, before and after an intervention."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attest.experiments.layers.observation import LayerObservation


def attention_maps(conditions: Mapping[str, LayerObservation]) -> dict[str, Tensor]:
    """The mean over heads of every layer's attention, ``<condition>_layer<l>``: ``(B, T, T)``, rows attend, 0 at padding."""
    return {
        f"{name}_layer{place}": torch.where(observation.mask.unsqueeze(-1), weights.mean(dim=1), 0)
        for name, observation in conditions.items()
        for place, weights in enumerate(observation.attention.values(), start=1)
    }
