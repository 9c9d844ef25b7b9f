"""Shuffling within what a row of attention may attend to: all tokens in an encoder, in a decoder those up to its own.

Legend: R rows of attention, T tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attest.compute.randomness import random_permutations

FIRST = 0
"""Place of the sink: the token on which many decoders park attention, whatever it says (Xiao et al. 2024)."""


def attends_everywhere(network: nn.Module) -> bool:
    """Whether every token may attend to every other in all layers, as in an encoder."""
    return getattr(network, "attends_everywhere", True)


def parks_attention(network: Any) -> bool:
    """Whether it is a decoder, where much attention may lie on the first token, so that evidence is also given without it."""
    return getattr(network, "looks_back", False)


def without_sink(allowed: Tensor) -> Tensor:
    """Where weight may be moved when the first token keeps what it has, bool ``(..., T)``."""
    kept = allowed.clone()
    kept[..., FIRST] = False
    return kept


class SinkKept(nn.Module):
    """A projection of all tokens but the first, which keeps the weight that softmax gives it.

    Args:
        projection: of the others, onto what the first one leaves.
    """

    def __init__(self, projection: nn.Module) -> None:
        super().__init__()
        self.projection = projection

    def forward(self, scores: Tensor, allowed: Tensor) -> Tensor:
        """Scores ``(..., T)`` and where a row may attend, bool -> weights ``(..., T)`` that sum to 1."""
        own = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
        others = without_sink(allowed)
        alone = ~others.any(dim=-1, keepdim=True)
        weights = self.projection(scores, others | (allowed & alone)) * (1 - own[..., :1])
        return torch.where(alone, own, torch.cat([own[..., :1], weights[..., 1:]], dim=-1))


def shuffled_within(seed: int, keys: Tensor, allowed: Tensor) -> Tensor:
    """A random permutation of some places of each row; all others stay.

    Args:
        seed: the run's seed.
        keys: int64 ``(R,)``, one for each row.
        allowed: bool ``(R, T)``, anywhere in the row.
    Returns:
        int64 ``(R, T)``: indices to gather with.
    """
    slots = allowed.byte().argsort(dim=-1, descending=True, stable=True)
    counted = allowed.gather(-1, slots)  # those that move come first
    order = random_permutations(seed, keys, 1, counted).squeeze(1)
    return slots.scatter(-1, slots, slots.gather(-1, order))
