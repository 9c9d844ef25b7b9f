"""The same random tampering, many times: draws of all instances side by side, a cache's worth at a time.

Legend: B batch, D draws, R (instance, draw) pairs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attest.core.attention.interventions import Intervention
from attest.core.memory import NEAR, by_rows
from attest.core.randomness import random_bits
from attest.models.layers_observed import LayerObservation, Scopes

Tampering = Callable[[Sequence[str]], list[Intervention]]
"""Takes layers to what is put there."""
Tamper = Callable[[LayerObservation, Tensor, Tensor], Tampering]
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
    """Of the attention of the layers, in nats, mean over rows; NaN unless it was asked for."""


@torch.no_grad()
def tampered_at_random(
    observation: LayerObservation,
    labels: Tensor,
    draws: int,
    seed: int,
    tamper: Tamper,
    compared: bool = False,
    scopes: Scopes | None = None,
) -> dict[str, Outcomes]:
    """Tamper with every instance D times, in each scope of layers: what is drawn for a layer is the same in all of them.

    Args:
        observation: the batch.
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        draws: D.
        seed: with an instance's id it fixes the keys of that instance's draws.
        tamper: says what to put where.
        compared: whether attention is compared too, which costs as much as a pass.
        scopes: layers to tamper with together, by suffix; None for those of the observation.
    Returns:
        By the suffix of the scope.
    """
    scopes = observation.scopes if scopes is None else scopes

    def measure(rows: Tensor, draw: Tensor) -> Tensor:
        clean = observation.rows(rows)
        tampering = tamper(clean, rows, random_bits(seed, clean.ids, draw))
        return torch.stack([_measured(clean, tampering, labels[rows], layers, compared) for layers in scopes.values()], dim=-1)

    device = observation.ids.device
    rows = torch.arange(len(observation.ids), device=device).repeat_interleave(draws)
    draw = torch.arange(draws, device=device).repeat(len(observation.ids))
    per_row = MAPS * sum(weights[0].nbytes for weights in observation.attention.values())
    measured = by_rows(measure, per_row, rows, draw, budget=NEAR).unflatten(0, (-1, draws))
    return {suffix: Outcomes(*each.unbind(dim=-1)) for suffix, each in zip(scopes, measured.unbind(dim=-1), strict=True)}


def _measured(clean: LayerObservation, tampering: Tampering, labels: Tensor, layers: Sequence[str], compared: bool) -> Tensor:
    """What tampering with some layers did, ``(R, 4)``, as in ``Outcomes``."""
    tampered = clean.under(*tampering(layers))
    flipped = tampered.per_instance((tampered.predicted != clean.predicted).double())
    moved = tampered.moved_from(clean)
    diverged = tampered.diverged_from(clean, layers) if compared else torch.full_like(moved, torch.nan)
    return torch.stack([column.double() for column in (tampered.correct(labels), flipped, moved, diverged)], dim=-1)


def keys_of_rows(seed: int, keys: Tensor, weights: Tensor) -> Tensor:
    """A random key for every row of every head, whatever the padding: int64 ``(R,)``, ``(R, N, T, T)`` -> ``(R N T,)``."""
    head_N, row_T = (torch.arange(count, device=keys.device) for count in weights.shape[1:3])
    return random_bits(seed, keys[:, None, None], head_N.unsqueeze(-1), row_T).flatten()
