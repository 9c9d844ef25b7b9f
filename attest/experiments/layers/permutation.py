"""E2 inside a Transformer: does the prediction change when every row of attention is shuffled? (Jain & Wallace, Alg. 2.)

Legend: R instances times draws, N heads, T tokens.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.core.attention.interventions import Intervention
from attest.core.randomness import random_bits, random_permutations
from attest.experiments.layers.allowed import attends_everywhere, shuffled_within
from attest.experiments.layers.deciding_row import deciding_row_permutation
from attest.experiments.layers.random_tampering import Tamper, Tampering, keys_of_rows, tampered_at_random
from attest.experiments.permutation import median
from attest.experiments.sink import parks_attention, without_sink
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation


def layer_permutation(observation: LayerObservation, labels: Tensor, seed: int, permutations: int = 3) -> dict[str, Tensor]:
    """Permute each row of each head over the tokens that it may attend to, and see how far the prediction moves.

    In an encoder these are all real tokens; in a decoder those up to its own, and in a sliding window those within.

    Args:
        observation: the batch.
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        seed: with an instance's id it fixes that instance's permutations.
        permutations: draws per instance. Every row of every head has its own; a layer the same alone and among all. Each
            costs a forward pass for every layer and one for all.
    Returns:
        Per instance ``(B,)``: with every layer permuted ``tvd_median`` over permutations, in [0, 1]; ``tvd_max``; ``flipped``,
        the share that changes the decision; ``correct_permuted``, the share of right ones; ``max_attention``, the largest
        weight of a row, mean over rows. The same with ``_layer<l>``, the l-th layer alone. Of a decoder also the first four
        with ``_without_sink``, every layer permuted and the first token keeping its weight in every row, and what
        ``deciding_row_permutation`` returns.
    """
    outcomes = tampered_at_random(observation, labels, permutations, seed, _permuting(seed))
    columns: dict[str, Tensor] = {}
    if parks_attention(observation.network):
        spared = {"_without_sink": observation.scopes[""]}
        outcomes |= tampered_at_random(observation, labels, permutations, seed, _permuting(seed, True), scopes=spared)
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


def _permuting(seed: int, sink_kept: bool = False) -> Tamper:
    def permute(clean: LayerObservation, rows: Tensor, draws: Tensor) -> Tampering:
        keys = (random_bits(seed, draws, torch.tensor(place, device=draws.device)) for place in range(len(clean.attention)))
        pairs = zip(clean.attention.items(), keys, strict=True)
        orders = {layer: _order(clean, weights, key, seed, sink_kept) for (layer, weights), key in pairs}
        return lambda layers: _permuted(clean, {layer: orders[layer] for layer in layers})

    return permute


def _order(clean: LayerObservation, weights_RNTT: Tensor, keys_R: Tensor, seed: int, sink_kept: bool) -> Tensor:
    """How every row of every head of a layer is permuted: int64 ``(R, N, T, T)``, indices to gather with."""
    keys = keys_of_rows(seed, keys_R, weights_RNTT)
    allowed = clean.mask[:, None, None].expand(weights_RNTT.shape)
    if attends_everywhere(clean.network):
        return random_permutations(seed, keys, 1, allowed.flatten(0, 2)).view_as(weights_RNTT)
    allowed = allowed & (weights_RNTT > 0)  # a weight of 0 is one that the mask forbids
    allowed = without_sink(allowed) if sink_kept else allowed
    return shuffled_within(seed, keys, allowed.flatten(0, 2)).view_as(weights_RNTT)


def _permuted(clean: LayerObservation, orders: dict[str, Tensor]) -> list[Intervention]:
    """The first layer's weights are known, for nothing below it changes; those above it are permuted as they come."""
    (first, order), *above = orders.items()
    known = Intervention("weights", clean.attention[first].gather(-1, order), [first])
    return [known, *(Intervention("weights", _gathering(order), [layer]) for layer, order in above)]


def _gathering(order: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda weights, mask: weights.gather(-1, order)


INSIDE = Inside("E2", layer_permutation)
