"""E2 of a decoder's deciding token alone: does the decision change when its row is shuffled, all others as they are?

Legend: B batch, D draws, R instances times draws, N heads, Q queries of a pass, T tokens, C logits.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attest.core.attention.interventions import Intervention, intervene
from attest.core.measures import probabilities, total_variation
from attest.core.memory import NEAR, by_rows
from attest.core.randomness import random_bits
from attest.experiments.layers.allowed import shuffled_within
from attest.experiments.layers.random_tampering import MAPS
from attest.experiments.permutation import median
from attest.experiments.sink import without_sink
from attest.models.layers_observed import LayerObservation

COPIES = 16
"""As in E16: keys and values of all tokens are alive beside each number of the row, in one layer at a time."""


@torch.no_grad()
def deciding_row_permutation(observation: LayerObservation, permutations: int, seed: int) -> dict[str, Tensor]:
    """Permute the deciding token's row of each head over the tokens that it may attend to, in one layer or in all.

    Earlier tokens do not see it, so that they are read once (``from_the_last``) where the model allows it.

    Args:
        observation: the batch, of a decoder.
        permutations: D, draws per instance; a layer has the same ones alone and among all.
        seed: with an instance's id it fixes that instance's permutations.
    Returns:
        Per instance ``(B,)``: ``tvd_median_deciding`` over permutations, in [0, 1], and ``flipped_deciding``, the share that
        changes the decision; the same with ``_without_sink``, the first token keeping its weight; and with ``_layer<l>``
        behind, the l-th layer alone.
    """
    network: Any = observation.network
    deciding = network.deciding(observation.mask).argmax(dim=-1)
    again = network.from_the_last(observation.tokens, observation.mask)
    columns = {}
    for name, kept in (("", False), ("_without_sink", True)):
        for suffix, layers in observation.scopes.items():
            logits_BDC = _permuted(observation, layers, deciding, again, (permutations, seed), kept)
            outcomes_BDK = probabilities(logits_BDC)
            moved_BD = total_variation(outcomes_BDK, observation.probabilities.unsqueeze(1))
            flips_BD = outcomes_BDK.argmax(dim=-1) != observation.predicted.unsqueeze(-1)
            columns[f"tvd_median_deciding{name}{suffix}"] = median(moved_BD)
            columns[f"flipped_deciding{name}{suffix}"] = flips_BD.double().mean(dim=-1)
    return columns


def _permuted(
    observation: LayerObservation,
    layers: Sequence[str],
    deciding: Tensor,
    again: Callable[[Tensor], Tensor] | None,
    drawn: tuple[int, int],
    sink_kept: bool,
) -> Tensor:
    """Logits ``(B, D, C)`` under each draw; from the deciding token on, where that is exact."""
    draws, seed = drawn

    def logits(rows: Tensor, draw: Tensor) -> Tensor:
        keys = random_bits(seed, observation.ids[rows], draw)
        at = deciding[rows]
        changes = [
            Intervention("weights", _row_gathered(_orders(weights[rows, :, at], keys, place, seed, sink_kept), at), [layer])
            for place, (layer, weights) in enumerate(observation.attention.items())
            if layer in layers
        ]
        with intervene(observation.network, *changes):
            return observation.network(observation.tokens[rows], observation.mask[rows]) if again is None else again(rows)

    rows = torch.arange(len(deciding), device=deciding.device).repeat_interleave(draws)
    draw = torch.arange(draws, device=deciding.device).repeat(len(deciding))
    maps = sum(weights[0].nbytes for weights in observation.attention.values())
    per_row = MAPS * maps if again is None else COPIES * maps // observation.mask.shape[-1]
    return by_rows(logits, per_row, rows, draw, budget=NEAR).unflatten(0, (-1, draws))


def _orders(row_RNT: Tensor, keys_R: Tensor, place: int, seed: int, sink_kept: bool) -> Tensor:
    """How the row of every head is permuted, int64 ``(R, N, T)``: among the tokens that it gives weight to."""
    keys_RN = random_bits(seed, keys_R.unsqueeze(-1), torch.full_like(keys_R, place).unsqueeze(-1), _heads(row_RNT))
    allowed = without_sink(row_RNT > 0) if sink_kept else row_RNT > 0
    return shuffled_within(seed, keys_RN.flatten(), allowed.flatten(0, 1)).view(row_RNT.shape)


def _heads(row_RNT: Tensor) -> Tensor:
    return torch.arange(row_RNT.shape[1], device=row_RNT.device)


def _row_gathered(order_RNT: Tensor, deciding_R: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Permute the deciding rows: one among all, or the one that passes alone."""

    def moved(weights_RNQT: Tensor, mask: Tensor) -> Tensor:
        places = deciding_R if weights_RNQT.shape[-2] > 1 else torch.zeros_like(deciding_R)
        everyone = torch.arange(len(places), device=places.device)
        permuted = weights_RNQT.clone()
        permuted[everyone, :, places] = weights_RNQT[everyone, :, places].gather(-1, order_RNT)
        return permuted

    return moved
