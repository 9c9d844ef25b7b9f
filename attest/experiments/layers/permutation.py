"""E2 inside a Transformer: does the prediction change when rows of attention are shuffled? (Jain & Wallace, Algorithm 2.)

In all networks every row is shuffled; of a decoder also the deciding token's row alone, all others as they are.

Legend: B batch, D draws, R instances times draws, N heads, Q queries of a pass, T tokens, C logits.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from attest.core.attention.interventions import Intervention
from attest.core.measures import movement
from attest.core.randomness import random_bits, random_permutations
from attest.experiments.layers.tampering import (
    DecidingRow,
    Sinks,
    Tampering,
    keys_of_rows,
    row_among,
    shuffled_within,
    tampered_at_random,
)
from attest.experiments.permutation import median
from attest.experiments.sink import WITHOUT, has_sinks, parks_attention, sinks_of
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation
from attest.models.prediction import predictions_of
from attest.models.traits import traits_of


def layer_permutation(observation: LayerObservation, labels: Tensor, seed: int, permutations: int = 3) -> dict[str, Tensor]:
    """Permute each attention row over the tokens that it may attend to, and measure how far the prediction moves.

    In an encoder these are all real tokens. In a decoder they are the tokens up to the row's own token; with a sliding window,
    only those in the window.

    Args:
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        seed: with an instance's id it fixes that instance's permutations.
        permutations: draws per instance. Every row of every head has its own. A layer is permuted in the same way alone and
            with all others. Each draw costs a forward pass for every layer and one for all.
    Returns:
        The columns of E2, ``(B,)``, with every layer permuted and, with ``_layer<l>``, with the l-th layer alone;
        ``max_attention`` is a mean over rows. For a decoder also those of ``deciding_row_permutation``.
    """
    outcomes = tampered_at_random(observation, labels, permutations, seed, partial(_permuting, seed))
    columns: dict[str, Tensor] = {}
    for suffix, outcome in outcomes.items():
        columns[f"tvd_median{suffix}"] = median(outcome.tvd)
        columns[f"tvd_max{suffix}"] = outcome.tvd.amax(dim=-1)
        columns[f"flipped{suffix}"] = outcome.flipped.mean(dim=-1)
        columns[f"correct_permuted{suffix}"] = outcome.correct.mean(dim=-1)
        if suffix in observation.scopes:
            columns[f"max_attention{suffix}"] = observation.largest(observation.scopes[suffix])
    if parks_attention(observation.network):
        columns |= deciding_row_permutation(observation, permutations, seed)
    return columns


def _permuting(seed: int, sinks: Sinks, clean: LayerObservation, rows: Tensor, draws: Tensor) -> Tampering:
    orders = {}
    for place, (layer, weights) in enumerate(clean.attention.items()):
        key = random_bits(seed, draws, torch.tensor(place, device=draws.device))
        orders[layer] = _order(clean, weights, key, seed, sinks[layer][rows] if sinks else None)
    return lambda layers: _permuted(clean, {layer: orders[layer] for layer in layers})


def _order(clean: LayerObservation, weights_RNTT: Tensor, keys_R: Tensor, seed: int, sinks_RNT: Tensor | None) -> Tensor:
    """Draw a random permutation of each attention row of a layer, as indices for ``gather``, int64 ``(R, N, T, T)``."""
    keys = keys_of_rows(seed, keys_R, weights_RNTT)
    allowed = clean.places(weights_RNTT).expand(weights_RNTT.shape)
    if traits_of(clean.network).attends_everywhere:
        return random_permutations(seed, keys, 1, allowed.flatten(0, 2)).view_as(weights_RNTT)
    allowed = allowed & (weights_RNTT > 0)  # a weight of 0 is one that the mask forbids
    allowed = allowed if sinks_RNT is None else allowed & ~sinks_RNT.unsqueeze(2)
    return shuffled_within(seed, keys, allowed.flatten(0, 2)).view_as(weights_RNTT)


def _permuted(clean: LayerObservation, orders: dict[str, Tensor]) -> list[Intervention]:
    (first, order), *above = orders.items()
    known = Intervention("weights", clean.attention[first].gather(-1, order), [first])
    return [known, *(Intervention("weights", _gathering(order), [layer]) for layer, order in above)]


def _gathering(order: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda weights, mask: weights.gather(-1, order)


INSIDE = Inside("E2", layer_permutation, reads=("labels", "seed"))


@torch.no_grad()
def deciding_row_permutation(observation: LayerObservation, permutations: int, seed: int) -> dict[str, Tensor]:
    """Permute only the attention of the token at which a decoder decides, and measure how far predictions move.

    Args:
        permutations: D, draws per instance; a layer is permuted in the same way alone and with all others.
        seed: with an instance's id it fixes that instance's permutations.
    Returns:
        The columns ``tvd_median_deciding`` and ``flipped_deciding`` of E2, ``(B,)``, all in [0, 1].
    """
    row = DecidingRow(observation)
    draw_BD = torch.arange(permutations, device=row.places.device).expand(len(row.places), -1)
    columns = {}
    spared: dict[str, Sinks] = {"": {}} | ({WITHOUT: sinks_of(observation)} if has_sinks(observation.network) else {})
    for name, sinks in spared.items():
        for suffix, layers in observation.scopes.items():
            logits_BDC = row.logits(draw_BD, partial(_permuting_row, row, layers, seed, sinks))
            outcomes_BDK = predictions_of(observation.network, logits_BDC)
            moved_BD = movement(outcomes_BDK, observation.prediction.unsqueeze(1))
            flips_BD = outcomes_BDK.argmax(dim=-1) != observation.predicted.unsqueeze(-1)
            columns[f"tvd_median_deciding{name}{suffix}"] = median(moved_BD)
            columns[f"flipped_deciding{name}{suffix}"] = flips_BD.double().mean(dim=-1)
    return columns


def _permuting_row(
    row: DecidingRow, layers: Sequence[str], seed: int, sinks: Sinks, rows: Tensor, draw: Tensor
) -> list[Intervention]:
    keys_R1 = random_bits(seed, row.observation.ids[rows], draw).unsqueeze(-1)
    changes = []
    for place, (layer, row_BNT) in enumerate(row.attention.items()):
        if layer in layers:
            row_RNT = row_BNT[rows]
            head_N = torch.arange(row_RNT.shape[1], device=rows.device)
            keys_RN = random_bits(seed, keys_R1, torch.full_like(keys_R1, place), head_N)
            allowed = (row_RNT > 0) & ~sinks[layer][rows] if sinks else row_RNT > 0
            order_RNT = shuffled_within(seed, keys_RN.flatten(), allowed.flatten(0, 1)).view(row_RNT.shape)
            changes.append(Intervention("weights", _row_gathered(order_RNT, row.places[rows]), [layer]))
    return changes


def _row_gathered(order_RNT: Tensor, deciding_R: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    def moved(weights_RNQT: Tensor, mask: Tensor) -> Tensor:
        places = row_among(deciding_R, weights_RNQT)
        everyone = torch.arange(len(places), device=places.device)
        permuted = weights_RNQT.clone()
        permuted[everyone, :, places] = weights_RNQT[everyone, :, places].gather(-1, order_RNT)
        return permuted

    return moved
