"""The same random tampering, many times: draws of all instances side by side, as many as the memory budget allows.

Legend: B batch, D draws, R (instance, draw) pairs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attest.attention.interventions import Intervention
from attest.compute.memory import by_rows
from attest.compute.randomness import random_bits
from attest.experiments.layers.observation import LayerObservation

Tamper = Callable[[LayerObservation, Tensor, Tensor], list[Intervention]]
"""Takes R observed instances, which rows of the batch they are, and R random keys of their draws, int64 both."""
MAPS = 6
"""Attention maps alive for each that is recorded: the clean one, its tampered twin, scores, and the integers that shuffle."""


class Outcomes(NamedTuple):
    """What tampering did, ``(B, D)`` float64 each."""

    correct: Tensor
    """1 where the decision is right, else 0; of a tagger the share of tokens."""
    flipped: Tensor
    """1 where it is another than without tampering, likewise."""
    tvd: Tensor
    """Of predictions, in [0, 1]."""
    jsd: Tensor
    """Of the attention of the layers, in nats, mean over rows."""


@torch.no_grad()
def tampered_at_random(
    observation: LayerObservation, labels: Tensor, layers: Sequence[str], draws: int, seed: int, tamper: Tamper
) -> Outcomes:
    """Tamper with every instance D times.

    Args:
        observation: the batch.
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        layers: whose attention is compared.
        draws: D.
        seed: with an instance's id it fixes the keys of that instance's draws.
        tamper: says what to put where.
    """

    def measure(rows: Tensor, draw: Tensor) -> Tensor:
        clean = observation.rows(rows)
        tampered = clean.under(*tamper(clean, rows, random_bits(seed, clean.ids, draw)))
        flipped = tampered.per_instance((tampered.predicted != clean.predicted).double())
        moved, diverged = tampered.moved_from(clean), tampered.diverged_from(clean, layers)
        columns = tampered.correct(labels[rows]), flipped, moved, diverged
        return torch.stack([column.double() for column in columns], dim=-1)

    device = observation.ids.device
    rows = torch.arange(len(observation.ids), device=device).repeat_interleave(draws)
    draw = torch.arange(draws, device=device).repeat(len(observation.ids))
    per_row = MAPS * sum(weights[0].nbytes for weights in observation.attention.values())
    return Outcomes(*by_rows(measure, per_row, rows, draw).unflatten(0, (-1, draws)).unbind(dim=-1))


def keys_of_rows(seed: int, keys: Tensor, weights: Tensor) -> Tensor:
    """A random key for every row of every head, whatever the padding: int64 ``(R,)``, ``(R, N, T, T)`` -> ``(R N T,)``."""
    head_N, row_T = (torch.arange(count, device=keys.device) for count in weights.shape[1:3])
    return random_bits(seed, keys[:, None, None], head_N.unsqueeze(-1), row_T).flatten()
