"""Shuffling within what a row of attention may attend to: all tokens in an encoder, in a decoder those up to its own.

Legend: R rows of attention, T tokens.
"""

import torch
from torch import Tensor, nn

from attest.core.randomness import random_permutations
from attest.experiments.sink import without_sink


def attends_everywhere(network: nn.Module) -> bool:
    """Whether every token may attend to every other in all layers, as in an encoder."""
    return getattr(network, "attends_everywhere", True)


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
