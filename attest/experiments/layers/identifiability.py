"""E13 inside a Transformer: does the output of a head determine its attention? (Brunner et al. 2020.)

A row of attention is one of those that give the same output, among the tokens that it may attend to. In an encoder these are
all; in a decoder each row has its own, so that the deciding token's row alone is asked.

Legend: B batch, N heads, T tokens, Q rows of attention that are asked, D dimensions a head, H = N D.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

import torch
from torch import Tensor

from attest.core.attention import MultiHeadAttention
from attest.core.attention.interventions import HookedModule, attending, recorded
from attest.core.memory import by_rows
from attest.experiments.identifiability import MEASURED, measured_of_rows
from attest.experiments.sink import parks_attention, without_sink
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation

COPIES = 12
"""Numbers in float64 alive for each weight of attention, most of them while ranks are correlated."""


@torch.no_grad()
def layer_identifiability(observation: LayerObservation) -> dict[str, Tensor]:
    """Measure the rank of T = E W^V W^O of every head, value bias included, and how much of the attention it determines.

    Args:
        observation: the batch.
    Returns:
        Per instance ``(B,)`` float64, means over layers and heads: ``rank``; ``trivial``, the share of heads whose left null
        space is trivial, so that one attention alone gives their output; and between raw and effective attention, over rows
        as well, ``tau``, ``cosine``, ``l1`` and ``jsd``, the last of clipped and renormalised weights. The same with
        ``_strict``, of [T, 1], for weights are known to sum to 1. The same with ``_layer<l>``, of the l-th layer. Of a
        decoder all this is about the deciding token's row and the tokens that it may attend to, and there is the same with
        ``_without_sink`` before the layer: the first token keeps its weight, and the others' are made to sum to 1.
    """
    values = _head_outputs(observation)
    columns: dict[str, Tensor] = {}
    looking_back = parks_attention(observation.network)
    for ending in ("", "_without_sink") if looking_back else ("",):
        asked = {layer: _deciding(observation, layer) if looking_back else _all_rows(observation, layer) for layer in values}
        rows = {layer: _spared(each) if ending else each for layer, each in asked.items()}
        measured = {layer: by_rows(measured_of_rows, _bytes(rows[layer]), values[layer], *rows[layer]) for layer in values}
        for suffix, layers in observation.scopes.items():
            together = torch.stack([measured[layer] for layer in layers]).nanmean(dim=0)
            found = zip(MEASURED, together.unbind(dim=-1), strict=True)
            columns |= {f"{name}{ending}{suffix}": column for name, column in found}
    return columns


class _Rows(NamedTuple):
    """The rows of attention that are asked."""

    weights: Tensor
    """``(B, N, Q, T)``."""
    allowed: Tensor
    """bool ``(B, N, T)``: what they may attend to."""
    real: Tensor
    """bool ``(B, Q)``: the rows of real tokens."""


def _all_rows(observation: LayerObservation, layer: str) -> _Rows:
    weights = observation.attention[layer]
    return _Rows(weights, observation.mask.unsqueeze(1).expand(weights.shape[:-1]), observation.mask)


def _deciding(observation: LayerObservation, layer: str) -> _Rows:
    last = observation.mask.sum(dim=-1) - 1
    everyone = torch.arange(len(last), device=last.device)
    weights_BNT = observation.attention[layer][everyone, :, last]
    allowed = observation.mask.unsqueeze(1) & (weights_BNT > 0)  # a weight of 0 is one that a window forbids
    return _among(weights_BNT, allowed)


def _spared(rows: _Rows) -> _Rows:
    return _among(rows.weights.squeeze(2), without_sink(rows.allowed))


def _among(weights_BNT: Tensor, allowed_BNT: Tensor) -> _Rows:
    weights_BNT = weights_BNT * allowed_BNT
    one = torch.ones(len(weights_BNT), 1, dtype=torch.bool, device=weights_BNT.device)
    return _Rows((weights_BNT / weights_BNT.sum(dim=-1, keepdim=True)).unsqueeze(2), allowed_BNT, one)


def _bytes(rows: _Rows) -> int:
    return COPIES * 8 * rows.weights[0].numel()


def _head_outputs(observation: LayerObservation) -> dict[str, Tensor]:
    """Return T of every head and layer, ``(B, N, T, D)``, as seen from its D-dimensional row space.

    W^O of a head is L Q with orthonormal rows Q, which turn nothing that a rank or a left null space could tell from T.
    """
    layers = attending(observation.network)
    values = _values(observation, layers)
    return {name: _seen_by_output(layers[name], values[name]) for name in observation.attention}


def _values(observation: LayerObservation, layers: Mapping[str, HookedModule]) -> Mapping[str, Tensor]:
    """Return the values of every layer ``(B, N, T, D)``: from what entered it where that is known, else from another pass."""
    if observation.inputs and all(isinstance(layers[name], MultiHeadAttention) for name in observation.inputs):
        return {name: cast(MultiHeadAttention, layers[name]).values(hidden) for name, hidden in observation.inputs.items()}
    with recorded(observation.network, "values") as values:
        observation.network(observation.tokens, observation.mask)
    return values


def _seen_by_output(layer: HookedModule, values_BNTD: Tensor) -> Tensor:
    """Return the values as W^O sees them; other people's layers do not say which matrix that is, so it has full rank there."""
    if not isinstance(layer, MultiHeadAttention):
        return values_BNTD
    output_NHD = layer.output.weight.unflatten(1, (values_BNTD.shape[1], -1)).transpose(0, 1)
    triangle_NDD = torch.linalg.qr(output_NHD.double(), mode="r").R
    return (values_BNTD.double() @ triangle_NDD.mT).to(values_BNTD.dtype)


INSIDE = Inside("E13", layer_identifiability)
