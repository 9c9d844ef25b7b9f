"""The keys of a Transformer as one tensor: taken from a clean forward pass, put back changed.

Legend: B batch, Y layers, N heads, T tokens, D dimensions a head, H = N D.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Intervention, recorded


def clean_keys(network: nn.Module, layers: Sequence[str], tokens: Tensor, mask: Tensor) -> Tensor:
    """Keys of an untouched forward pass, all heads side by side: ``(B, Y, T, H)``.

    Args:
        network: in evaluation mode.
        layers: Y names of layers with heads, as in ``attending(network)``.
        tokens, mask: ``(B, T)``.
    """
    with recorded(network, "keys") as keys:
        network(tokens, mask)
    return torch.stack([keys[layer].transpose(1, 2).flatten(2) for layer in layers], dim=1)


def replacing_keys(network: nn.Module, layers: Sequence[str], keys: Tensor) -> list[Intervention]:
    """Interventions that put keys ``(B, Y, T, H)`` in place of the layers' own at real tokens; padding keeps its own."""
    return [_replacing(layer, keys[:, place]) for place, layer in enumerate(layers)]


def _replacing(layer: str, keys_BTH: Tensor) -> Intervention:
    def replace(computed_BNTD: Tensor, mask: Tensor) -> Tensor:
        ours_BNTD = keys_BTH.unflatten(-1, (computed_BNTD.shape[1], -1)).transpose(1, 2)
        return torch.where(mask[:, None, :, None], ours_BNTD.to(computed_BNTD), computed_BNTD)

    return Intervention("keys", replace, [layer])


def mean_squared_distance(keys: Tensor, others: Tensor, mask: Tensor) -> Tensor:
    """Between keys ``(B, Y, T, H)``, over layers, real tokens and dimensions: ``(B,)``."""
    return _squares(keys - others, mask).sum(dim=(1, 2, 3)) / (keys[0, :, 0].numel() * mask.sum(dim=-1))


def euclidean_distance(keys: Tensor, others: Tensor, mask: Tensor) -> Tensor:
    r""":math:`\lVert K - K_{adv} \rVert_2` over layers, real tokens and dimensions: ``(B,)``."""
    squares = _squares(keys - others, mask).sum(dim=(1, 2, 3))
    return squares.clamp(min=torch.finfo(squares.dtype).tiny).sqrt()  # equal keys have a gradient of 0, not NaN


def _squares(differences_BYTH: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask[:, None, :, None], differences_BYTH, 0) ** 2
