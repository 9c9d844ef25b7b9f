"""E13 inside a Transformer: does a head's output determine its attention, or would other weights do? (Brunner et al. 2020.)

Other weights may give the same output, if they are on tokens to which the row of attention may attend. In an encoder these are
all tokens. In a decoder they differ from row to row, so only the row of the deciding token is measured.

Legend: B batch, N heads, T tokens, Q rows of attention that are measured, D dimensions a head, H = N D.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from attest.core.attention import MultiHeadAttention
from attest.core.attention.interventions import attending
from attest.core.memory import by_rows
from attest.experiments.identifiability import MEASURED, measured_of_rows
from attest.experiments.sink import WITHOUT, parks_attention, shows_sinks, sinks_of
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation

COPIES = 12
"""To estimate memory: how many float64 numbers exist at once for each attention weight; most of them exist while rankings are
correlated."""


@torch.no_grad()
def layer_identifiability(observation: LayerObservation) -> dict[str, Tensor]:
    """Measure for each head how much of its attention can be recovered from its output.

    Returns:
        The columns of E13 about Transformers, ``(B,)`` float64: means over layers and heads (τ-b, cosine, L1 and JSD also over
        rows); with ``_layer<l>``, those of the l-th layer. ``_strict`` is about [T, 1], because weights are known to sum to 1.
        For a decoder, they are about the row of the deciding token and the tokens to which it may attend; with
        ``_without_sink`` (before ``_layer<l>``), sinks are left out. There are columns ``sinks…`` if sinks can be measured.
    """
    values = _head_outputs(observation)
    sinks = sinks_of(observation) if shows_sinks(observation.network) else {}
    columns = _where_sinks_are(observation, sinks) if sinks else {}
    looking_back = parks_attention(observation.network)
    for ending in ("", WITHOUT) if looking_back and sinks else ("",):
        measured = {}
        for layer, outputs in values.items():
            left_out = sinks[layer] if ending else None
            weights, *allowed = (_deciding if looking_back else _all_rows)(observation, layer, left_out)
            measured[layer] = by_rows(measured_of_rows, COPIES * 8 * weights[0].numel(), outputs, weights, *allowed)
        for suffix, layers in observation.scopes.items():
            together = torch.stack([measured[layer] for layer in layers]).nanmean(dim=0)
            found = zip(MEASURED, together.unbind(dim=-1), strict=True)
            columns |= {f"{name}{ending}{suffix}": column for name, column in found}
    return columns


def _where_sinks_are(observation: LayerObservation, sinks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    first = torch.zeros_like(observation.mask)
    first[:, 0] = True
    places = {"sinks": first | True, "sinks_first": first, "sinks_other": ~first}
    if observation.special is not None:
        places |= {"sinks_special": observation.special & ~first, "sinks_other": ~(observation.special | first)}
    columns = {}
    for suffix, layers in observation.scopes.items():
        of_heads = torch.cat([sinks[layer] for layer in layers], dim=1)
        for name, place in places.items():
            columns[f"{name}{suffix}"] = (of_heads & place.unsqueeze(1)).any(dim=-1).double().mean(dim=-1)
    return columns


Rows = tuple[Tensor, Tensor, Tensor]
"""Three tensors about the attention of N heads: the attention rows that are measured, ``(B, N, Q, T)``; the tokens to which
they may attend, bool ``(B, N, T)``; and which rows belong to real tokens, bool ``(B, Q)``."""


def _all_rows(observation: LayerObservation, layer: str, sinks: Tensor | None) -> Rows:
    weights = observation.attention[layer]
    allowed = observation.places(weights).squeeze(2).expand(*weights.shape[:2], -1)
    return weights, allowed, observation.rows_that_count(weights)[:, 0]


def _deciding(observation: LayerObservation, layer: str, sinks: Tensor | None) -> Rows:
    last = observation.mask.sum(dim=-1) - 1
    everyone = torch.arange(len(last), device=last.device)
    weights_BNT = observation.attention[layer][everyone, :, last]
    allowed_BNT = observation.mask.unsqueeze(1) & (weights_BNT > 0)  # a weight of 0 is one that a window forbids
    weights_BNT = _renormalised(weights_BNT, allowed_BNT)
    if sinks is not None:
        allowed_BNT = allowed_BNT & ~sinks
        weights_BNT = _renormalised(weights_BNT, allowed_BNT)
    one = torch.ones(len(last), 1, dtype=torch.bool, device=last.device)
    return weights_BNT.unsqueeze(2), allowed_BNT, one


def _renormalised(weights_BNT: Tensor, allowed_BNT: Tensor) -> Tensor:
    kept_BNT = weights_BNT * allowed_BNT
    return kept_BNT / kept_BNT.sum(dim=-1, keepdim=True)


def _head_outputs(observation: LayerObservation) -> dict[str, Tensor]:
    """Return for each layer the matrix T of each head, which attention multiplies, ``(B, N, T, D)``.

    W^O of a head is L Q, and the rows of Q are orthonormal. T is the values times L; the factor Q is left out, because it
    changes neither the rank nor the left null space. Layers of other libraries do not show W^O, so it is taken to have full
    rank there, and T is the values.
    """
    layers = attending(observation.network)
    ours = {name: layer for name, layer in layers.items() if isinstance(layer, MultiHeadAttention)}
    values = observation.values()
    return values | {name: _seen_by_output(ours[name], values[name]) for name in values.keys() & ours.keys()}


def _seen_by_output(layer: MultiHeadAttention, values_BNTD: Tensor) -> Tensor:
    output_NHD = layer.output.weight.unflatten(1, (values_BNTD.shape[1], -1)).transpose(0, 1)
    triangle_NDD = torch.linalg.qr(output_NHD.double(), mode="r").R
    return (values_BNTD.double() @ triangle_NDD.mT).to(values_BNTD.dtype)


INSIDE = Inside("E13", layer_identifiability, needs="shows_values")
