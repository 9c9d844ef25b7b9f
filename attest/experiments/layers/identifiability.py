"""E13 inside a Transformer: does the output of a head determine its attention? (Brunner et al. 2020.)

Legend: B batch, N heads, T tokens, D dimensions a head, H = N D.
"""

import torch
from torch import Tensor

from attest.attention import MultiHeadAttention
from attest.attention.hook_points import HookedModule
from attest.attention.interventions import attending, recorded
from attest.compute.memory import by_rows
from attest.experiments.layers.deciding_identifiability import deciding_identifiability
from attest.experiments.layers.observation import LayerObservation, mean_over_rows
from attest.experiments.sink import parks_attention
from attest.measures.identifiability import agreement, column_space, effective_attention, with_ones

COPIES = 12
"""Numbers in float64 alive for each weight of attention, most of them while ranks are correlated."""
MEASURES = ("rank", "trivial", "tau", "cosine", "l1", "jsd")


@torch.no_grad()
def layer_identifiability(observation: LayerObservation) -> dict[str, Tensor]:
    """Rank of T = E W^V W^O of every head, value bias included, and how much of the attention it determines.

    Args:
        observation: the batch.
    Returns:
        Per instance ``(B,)`` float64, means over layers and heads: ``rank``; ``trivial``, the share of heads whose left null
        space is trivial, so that one attention alone gives their output; and between raw and effective attention, over rows
        as well, ``tau``, ``cosine``, ``l1`` and ``jsd``, the last of clipped and renormalised weights. The same with
        ``_strict``, of [T, 1], for weights are known to sum to 1. The same with ``_layer<l>``, of the l-th layer. Of a decoder
        also with ``_deciding``, of the deciding token's row alone and the tokens that it attends to, and with
        ``_deciding_without_sink``, of all of them but the first.
    """
    asked = ("", "_deciding", "_deciding_without_sink") if parks_attention(observation.network) else ("",)
    names = [f"{measure}{strict}{of}" for of in asked for strict in ("", "_strict") for measure in MEASURES]
    values = _head_outputs(observation)
    measured = {layer: _of_layer(observation, layer, values[layer]) for layer in values}
    columns: dict[str, Tensor] = {}
    for suffix, layers in observation.scopes.items():
        together = torch.stack([measured[layer] for layer in layers]).nanmean(dim=0)
        columns |= {f"{name}{suffix}": column for name, column in zip(names, together.unbind(dim=-1), strict=True)}
    return columns


def _head_outputs(observation: LayerObservation) -> dict[str, Tensor]:
    """T of every head and layer, ``(B, N, T, D)``: as seen from its D-dimensional row space.

    W^O of a head is L Q with orthonormal rows Q, which turn nothing that a rank or a left null space could tell from T.
    """
    with recorded(observation.network, "values") as values:
        observation.network(observation.tokens, observation.mask)
    layers = attending(observation.network)
    return {name: _seen_by_output(layers[name], values[name]) for name in observation.attention}


def _seen_by_output(layer: HookedModule, values_BNTD: Tensor) -> Tensor:
    """Other people's layers do not say which of their matrices is W^O: there it is taken to have full rank, as it has."""
    if not isinstance(layer, MultiHeadAttention):
        return values_BNTD
    output_NHD = layer.output.weight.unflatten(1, (values_BNTD.shape[1], -1)).transpose(0, 1)
    triangle_NDD = torch.linalg.qr(output_NHD.double(), mode="r").R
    return (values_BNTD.double() @ triangle_NDD.mT).to(values_BNTD.dtype)


def _of_layer(observation: LayerObservation, layer: str, matrix_BNTD: Tensor) -> Tensor:
    """Every measure, and of a decoder those of the deciding row behind them, ``(B, 12)`` or ``(B, 36)``."""
    weights_BNTT = observation.attention[layer]
    measured = by_rows(_measured, COPIES * 8 * weights_BNTT[0].numel(), matrix_BNTD, weights_BNTT, observation.mask)
    if not parks_attention(observation.network):
        return measured
    return torch.cat([measured, deciding_identifiability(observation, layer, matrix_BNTD)], dim=-1)


def _measured(matrix_BNTD: Tensor, weights_BNTT: Tensor, mask: Tensor) -> Tensor:
    """Every measure without and with ones, ``(B, 12)``."""
    mask_BNT = mask.unsqueeze(1).expand(weights_BNTT.shape[:-1])
    columns: list[Tensor] = []
    for each in (matrix_BNTD, with_ones(matrix_BNTD)):
        space = column_space(each, mask_BNT)
        trivial = (space.rank == mask_BNT.sum(dim=-1)).double()
        compared = agreement(weights_BNTT, effective_attention(weights_BNTT, space), mask_BNT)
        columns += [space.rank.double().mean(dim=-1), trivial.mean(dim=-1)]
        columns += [mean_over_rows(values, mask) for values in compared]
    return torch.stack(columns, dim=-1)
