"""E9, shuffling: keys that belong to other tokens (Drozdyuk et al.).

Legend: R instances times draws, Y layers, T tokens, H size of the keys of all heads.
"""

import torch
from torch import Tensor

from attest.attention.interventions import Intervention
from attest.compute.randomness import random_bits, random_permutations
from attest.experiments.layers.keys import clean_keys, replacing_keys
from attest.experiments.layers.observation import LayerObservation
from attest.experiments.layers.random_tampering import Tamper, tampered_at_random


@torch.no_grad()
def key_shuffle(observation: LayerObservation, draws: int, seed: int, labels: Tensor) -> dict[str, Tensor]:
    """Permute the token vectors of the clean keys over the real tokens, all heads alike, and see what is left.

    Args:
        observation: the batch.
        draws: shuffles per instance, over which everything is averaged. A layer has the same ones alone and among all.
        seed: with an instance's id it fixes that instance's shuffles, which differ from layer to layer.
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
    Returns:
        Per instance ``(B,)``: ``correct``; with every layer shuffled ``correct_shuffled`` in [0, 1], ``tvd_shuffled`` of
        predictions and ``jsd_shuffled`` of attention in nats, mean over rows; the same with ``_layer<l>``, the l-th alone.
    """
    everywhere = observation.scopes[""]
    keys = clean_keys(observation.network, everywhere, observation.tokens, observation.mask)
    columns = {"correct": observation.correct(labels)}
    for suffix, layers in observation.scopes.items():
        shuffling = _shuffling(keys, everywhere, layers, seed)
        outcomes = tampered_at_random(observation, labels, layers, draws, seed, shuffling)
        for name in ("correct", "tvd", "jsd"):
            columns[f"{name}_shuffled{suffix}"] = getattr(outcomes, name).mean(dim=-1)
    return columns


def with_shuffled_keys(observation: LayerObservation, seed: int) -> LayerObservation:
    """The batch under the first shuffle of ``key_shuffle``, in all layers."""
    layers = observation.scopes[""]
    keys = clean_keys(observation.network, layers, observation.tokens, observation.mask)
    rows = torch.arange(len(observation.ids), device=observation.ids.device)
    shuffle = _shuffling(keys, layers, layers, seed)
    return observation.under(*shuffle(observation, rows, random_bits(seed, observation.ids, torch.zeros_like(rows))))


def _shuffling(keys_BYTH: Tensor, everywhere: list[str], layers: list[str], seed: int) -> Tamper:
    chosen = [everywhere.index(layer) for layer in layers]

    def shuffle(clean: LayerObservation, rows: Tensor, draws: Tensor) -> list[Intervention]:
        order_RYT = random_permutations(seed, draws, len(everywhere), clean.mask)[:, chosen]
        keys_RYTH = keys_BYTH[rows][:, chosen]
        shuffled_RYTH = keys_RYTH.gather(-2, order_RYT.unsqueeze(-1).expand_as(keys_RYTH))
        return replacing_keys(clean.network, layers, shuffled_RYTH)

    return shuffle
