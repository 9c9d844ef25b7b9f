"""Which tokens are erased: the k highest of an explanation, or as many at random.

Legend: B batch, R rankings, K sizes, T tokens.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.core.randomness import random_permutations, stream
from attest.models.observation import Observation

SHARES = (0.01, 0.05, 0.10, 0.20, 0.50)
"""Of the tokens of a text; those of ERASER (DeYoung et al. 2020)."""


def sizes(lengths: Tensor, shares: tuple[float, ...] = SHARES) -> Tensor:
    """How many tokens each share is, rounded up: at least one, int64 ``(B, K)``.

    Args:
        lengths: int64 ``(B,)``, tokens of each text that may be erased.
        shares: K of them, in (0, 1].
    """
    exact = lengths.unsqueeze(-1).double() * torch.tensor(shares, dtype=torch.float64, device=lengths.device)
    return (exact - 1e-9).ceil().long().clamp(min=1)  # 0.1 * 30 is a little above 3


def ranks_of(explanations: Tensor, ids: Tensor, mask: Tensor, seed: int) -> Tensor:
    """The place of every token when the heaviest stands first, ties in a random order of the text's own.

    Args:
        explanations: float ``(B, R, T)``, finite at real tokens.
        ids: int64 ``(B,)``, identities of the instances, which with the seed break ties.
        mask: bool ``(B, T)``, True at the tokens that are ranked.
        seed: of the run.
    Returns:
        int64 ``(B, R, T)``, from 0; all others come last.
    """
    shuffled_BRT = random_permutations(stream(seed, "ties"), ids, 1, mask).expand(explanations.shape)
    keys_BRT = explanations.masked_fill(~mask.unsqueeze(1), -torch.inf).gather(-1, shuffled_BRT)
    order_BRT = shuffled_BRT.gather(-1, keys_BRT.argsort(dim=-1, descending=True, stable=True))
    return order_BRT.argsort(dim=-1)


def random_ranks(ids: Tensor, mask: Tensor, draws: int, seed: int) -> Tensor:
    """Places in random orders, int64 ``(B, draws, T)``; what stands before place k is a random set of k tokens."""
    return random_permutations(stream(seed, "random sets"), ids, draws, mask).argsort(dim=-1)


def kept_sets(ranks: Tensor, counts: Tensor, mask: Tensor) -> Tensor:
    """What is left without the first k of each ranking, and the first k alone.

    Args:
        ranks: int64 ``(B, R, T)``.
        counts: int64 ``(B, K)``.
        mask: bool ``(B, T)``.
    Returns:
        bool ``(B, 2, R, K, T)``: the rest in row 0, the first k in row 1.
    """
    first_BRKT = ranks.unsqueeze(2) < counts[:, None, :, None]
    return torch.stack([~first_BRKT, first_BRKT], dim=1) & mask[:, None, None, None]


Columns = dict[str, Tensor]


def on_part(measure: Callable[[Observation], Columns], observation: Observation, chosen: Tensor) -> Columns:
    """The columns ``(B,)`` of some texts, bool ``chosen (B,)``, among NaN for the others; no columns where none is chosen.

    Tables put batches below one another, and what a batch lacks is NaN there.
    """
    if chosen.all():
        return measure(observation)
    rows = chosen.nonzero().flatten()
    if not len(rows):
        return {}
    measured = measure(observation.part(rows))
    columns = {name: column.new_full((len(chosen),), torch.nan) for name, column in measured.items()}
    for name, column in measured.items():
        columns[name][rows] = column
    return columns
