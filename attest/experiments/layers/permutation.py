"""E2 inside a Transformer: does the prediction change when every row of attention is shuffled? (Jain & Wallace, Alg. 2.)

Legend: R instances times draws, N heads, T tokens.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.attention.interventions import Intervention
from attest.compute.randomness import random_bits, random_permutations
from attest.experiments.layers.observation import LayerObservation
from attest.experiments.layers.random_tampering import Tamper, Tampering, keys_of_rows, tampered_at_random
from attest.experiments.permutation import median


def layer_permutation(observation: LayerObservation, permutations: int, seed: int, labels: Tensor) -> dict[str, Tensor]:
    """Permute each row of each head over the real tokens, in one layer or in all, and see how far the prediction moves.

    Args:
        observation: the batch.
        permutations: draws per instance. Every row of every head has its own; a layer the same alone and among all.
        seed: with an instance's id it fixes that instance's permutations.
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
    Returns:
        Per instance ``(B,)``: with every layer permuted ``tvd_median`` over permutations, in [0, 1]; ``tvd_max``; ``flipped``,
        the share that changes the decision; ``correct_permuted``, the share of right ones; ``max_attention``, the largest
        weight of a row, mean over rows. The same with ``_layer<l>``, the l-th layer alone.
    """
    outcomes = tampered_at_random(observation, labels, permutations, seed, _permuting(seed))
    columns = {}
    for suffix, layers in observation.scopes.items():
        columns[f"tvd_median{suffix}"] = median(outcomes[suffix].tvd)
        columns[f"tvd_max{suffix}"] = outcomes[suffix].tvd.amax(dim=-1)
        columns[f"flipped{suffix}"] = outcomes[suffix].flipped.mean(dim=-1)
        columns[f"correct_permuted{suffix}"] = outcomes[suffix].correct.mean(dim=-1)
        columns[f"max_attention{suffix}"] = observation.largest(layers)
    return columns


def _permuting(seed: int) -> Tamper:
    def permute(clean: LayerObservation, rows: Tensor, draws: Tensor) -> Tampering:
        keys = (random_bits(seed, draws, torch.tensor(place, device=draws.device)) for place in range(len(clean.attention)))
        orders = {layer: _order(clean, key, seed) for layer, key in zip(clean.attention, keys, strict=True)}
        return lambda layers: _permuted(clean, {layer: orders[layer] for layer in layers})

    return permute


def _order(clean: LayerObservation, keys_R: Tensor, seed: int) -> Tensor:
    """How every row of every head of a layer is permuted: int64 ``(R, N, T, T)``, indices to gather with."""
    like_RNTT = next(iter(clean.attention.values()))
    mask_RNTT = clean.mask[:, None, None].expand(like_RNTT.shape)
    order = random_permutations(seed, keys_of_rows(seed, keys_R, like_RNTT), 1, mask_RNTT.flatten(0, 2))
    return order.view_as(like_RNTT)


def _permuted(clean: LayerObservation, orders: dict[str, Tensor]) -> list[Intervention]:
    """The first layer's weights are known, for nothing below it changes; those above it are permuted as they come."""
    (first, order), *above = orders.items()
    known = Intervention("weights", clean.attention[first].gather(-1, order), [first])
    return [known, *(Intervention("weights", _gathering(order), [layer]) for layer, order in above)]


def _gathering(order: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda weights, mask: weights.gather(-1, order)
