"""E2 inside a Transformer: does the prediction change when every row of attention is shuffled? (Jain & Wallace, Alg. 2.)

Legend: R instances times draws, N heads, T tokens.
"""

import torch
from torch import Tensor

from attest.attention.interventions import Intervention
from attest.compute.randomness import random_bits, random_permutations
from attest.experiments.layers.observation import LayerObservation
from attest.experiments.layers.random_tampering import Tamper, keys_of_rows, tampered_at_random
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
    columns = {}
    for suffix, layers in observation.scopes.items():
        permuting = _permuting(observation.scopes[""], layers, seed)
        outcomes = tampered_at_random(observation, labels, layers, permutations, seed, permuting)
        columns[f"tvd_median{suffix}"] = median(outcomes.tvd)
        columns[f"tvd_max{suffix}"] = outcomes.tvd.amax(dim=-1)
        columns[f"flipped{suffix}"] = outcomes.flipped.mean(dim=-1)
        columns[f"correct_permuted{suffix}"] = outcomes.correct.mean(dim=-1)
        columns[f"max_attention{suffix}"] = observation.largest(layers)
    return columns


def _permuting(everywhere: list[str], layers: list[str], seed: int) -> Tamper:
    def permute(clean: LayerObservation, rows: Tensor, draws: Tensor) -> list[Intervention]:
        places = {layer: torch.tensor(everywhere.index(layer), device=draws.device) for layer in layers}
        return [_permuted(layer, random_bits(seed, draws, place), seed) for layer, place in places.items()]

    return permute


def _permuted(layer: str, keys_R: Tensor, seed: int) -> Intervention:
    def replace(weights_RNTT: Tensor, mask: Tensor) -> Tensor:
        mask_RNTT = mask[:, None, None].expand(weights_RNTT.shape)
        order = random_permutations(seed, keys_of_rows(seed, keys_R, weights_RNTT), 1, mask_RNTT.flatten(0, 2))
        return weights_RNTT.gather(-1, order.view_as(weights_RNTT))

    return Intervention("weights", replace, [layer])
