"""How well a number tells texts apart, with intervals over texts.

Legend: N texts, R right defendants, D bootstrap draws.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Auroc(NamedTuple):
    """NaN where the test is defined on no text of one side."""

    value: float
    low: float
    high: float


def auroc(suspicion: Tensor, right: Tensor, draws: int, level: float, seed: int) -> Auroc:
    """The chance that a text of the defendant looks more suspicious than one of a right defendant, ties half.

    All defendants answer on the same texts, so whole texts are drawn again, with what everybody says of them (percentiles).

    Args:
        suspicion: float ``(N,)`` of the defendant, NaN where undefined.
        right: float ``(R, N)`` of right defendants.
        draws: D.
        level: of the interval.
        seed: of the draws.
    """
    wins, pairs = _wins(suspicion, right)
    drawn = torch.randint(len(suspicion), (draws, len(suspicion)), generator=torch.Generator().manual_seed(seed))
    counts = torch.zeros(draws, len(suspicion), dtype=torch.double).scatter_add(1, drawn, torch.ones_like(drawn).double())
    values = ((counts @ wins) * counts).sum(dim=-1) / ((counts @ pairs) * counts).sum(dim=-1)
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.double)
    low, high = values.nanquantile(tails).tolist()
    return Auroc(float(wins.sum() / pairs.sum()), low, high)


def _wins(suspicion: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Of each pair of texts how often the first looks worse, and how many comparisons there are, ``(N, N)`` both."""
    apart = torch.sign(suspicion.unsqueeze(-1) - right.unsqueeze(1))  # (R, N, N); NaN where either is undefined
    defined = ~apart.isnan()
    return ((apart.nan_to_num(0) + 1) / 2 * defined).sum(dim=0).double(), defined.sum(dim=0).double()
