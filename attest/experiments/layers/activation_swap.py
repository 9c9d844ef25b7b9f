"""E8 inside a Transformer: another function turns scores into attention, in one layer or in all (Drozdyuk et al.)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from attest.core.attention import Entmax15, Projection, Softmax, Sparsemax, Uniform
from attest.core.attention.interventions import Intervention, attending
from attest.experiments.activation_swap import SHIPPED
from attest.experiments.layers.tampering import SinkKept, Sinks
from attest.experiments.sink import has_sinks, sinks_of
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation

WITHOUT_SETTINGS = (Softmax, Entmax15, Sparsemax, Uniform)
"""The classes of projections (functions from scores to weights) that have no settings. Two objects of the same such class
compute the same, so swapping one for the other needs no forward pass."""


@torch.no_grad()
def layer_activation_swap(
    observation: LayerObservation, labels: Tensor, projections: Mapping[str, Projection] = SHIPPED
) -> dict[str, Tensor]:
    """Replace the attention projection (such as softmax) in all layers or in one, and compute the predictions.

    Args:
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        projections: by name; a projection equal to the trained one does not change the prediction.
    Returns:
        The columns of E8, ``(B,)``, with every layer swapped and, with ``_layer<l>``, with the l-th layer alone swapped and
        its own attention measured. JSD and support are means over rows; each head has one row per real token that attends.
    """
    columns = {"correct": observation.correct(labels)}
    for suffix, layers in observation.scopes.items():
        columns[f"support{suffix}"] = observation.support(layers)
        for name, projection in projections.items():
            swapped = _under(observation, projection, layers)
            columns[f"correct_{name}{suffix}"] = swapped.correct(labels)
            columns[f"tvd_{name}{suffix}"] = swapped.moved_from(observation)
            columns[f"jsd_{name}{suffix}"] = swapped.diverged_from(observation, layers)
            columns[f"support_{name}{suffix}"] = swapped.support(layers)
    if not has_sinks(observation.network):
        return columns
    sinks = sinks_of(observation)
    for name, projection in projections.items():
        swapped = _under(observation, projection, observation.scopes[""], sinks)
        columns[f"correct_{name}_without_sink"] = swapped.correct(labels)
        columns[f"tvd_{name}_without_sink"] = swapped.moved_from(observation)
    return columns


def _under(
    observation: LayerObservation, projection: Projection, layers: list[str], sinks: Sinks | None = None
) -> LayerObservation:
    attend = attending(observation.network)
    trained = {type(getattr(attend[layer], "projection", None)) for layer in layers}
    if type(projection) in WITHOUT_SETTINGS and trained == {type(projection)}:
        return observation
    others = {layer: projection if sinks is None else SinkKept(projection, sinks[layer]) for layer in layers}
    return observation.under(*(Intervention("projection", each, [layer]) for layer, each in others.items()))


INSIDE = Inside("E8", layer_activation_swap, reads=("labels",))
