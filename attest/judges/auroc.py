"""How well a number tells texts apart, with intervals over texts, and whether it goes along with another.

Numbers that differ by no more than a tolerance tie: below it, what differs is the rounding of their computation.

Legend: N texts, R right defendants, D bootstrap draws.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.compute.rounding import compared


class Auroc(NamedTuple):
    """The value and the ends of its interval, each in [0, 1]."""

    value: float
    low: float
    high: float


def auroc(suspicion: Tensor, right: Tensor, tolerance: float, draws: int, level: float, seed: int) -> Auroc:
    """The chance that a text of the defendant looks more suspicious than one of a right defendant, ties half.

    A test that is undefined on a text of a pair does not tell the two apart: a tie. So a test that is undefined everywhere
    is blind, at 0.5, and not spared. All defendants answer on the same texts, so whole texts are drawn again, with what
    everybody says of them (percentiles).

    Args:
        suspicion: float ``(N,)`` of the defendant, NaN where the test is undefined.
        right: float ``(R, N)`` of right defendants.
        tolerance: the largest difference that is none.
        draws: D.
        level: of the interval.
        seed: of the draws.
    """
    wins = _wins(suspicion, right, tolerance)
    size = len(suspicion)
    drawn = torch.randint(size, (draws, size), generator=torch.Generator().manual_seed(seed))
    counts = torch.zeros(draws, size, dtype=torch.double).scatter_add(1, drawn, torch.ones_like(drawn).double())
    values = ((counts @ wins) * counts).sum(dim=-1) / size**2
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.double)
    low, high = values.quantile(tails).tolist()
    return Auroc(float(wins.mean()), low, high)


def _wins(suspicion: Tensor, right: Tensor, tolerance: float) -> Tensor:
    """The share of right defendants against whom the first text of each pair looks worse, ties half, ``(N, N)``."""
    more = compared(suspicion.unsqueeze(-1), right.unsqueeze(1), tolerance).nan_to_num(nan=0.0)  # (R, N, N)
    return ((more + 1) / 2).mean(dim=0)


def tau_b(x: Tensor, y: Tensor, tolerance: float) -> float:
    """Kendall's τ-b of two numbers of each text, ``(N,)`` each; NaN where one is constant, or undefined anywhere."""
    signs = torch.stack([compared(each.unsqueeze(-1), each, tolerance).flatten() for each in (x, y)])
    balance = signs @ signs.mT
    return float(balance[0, 1] / (balance[0, 0] * balance[1, 1]).sqrt())
