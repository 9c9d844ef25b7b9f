"""Every prediction of an evaluation pass, so that scores are computed once, over all ranks' instances."""

from typing import NamedTuple

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat


class Predicted(NamedTuple):
    """All instances of a pass, sorted by id; the same on every rank, however instances were dealt."""

    labels: Tensor
    """int64 ``(N,)``."""
    probabilities: Tensor
    """float32 ``(N, K)``."""
    losses: Tensor
    """float64 ``(N,)``."""


class Predictions(Metric):
    """Collects predictions batch by batch and gathers them over ranks.

    Scores summed up rank by rank depend, in their last bits, on who saw which batch; scores of the sorted whole do not.
    A rank without instances must update with an empty batch, or the others wait for it.
    """

    full_state_update = False
    rows: list[Tensor] | Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, ids: Tensor, labels: Tensor, probabilities: Tensor, losses: Tensor) -> None:
        """Add a batch: ``(B,)``, ``(B,)``, ``(B, K)``, ``(B,)``; B may be 0."""
        columns = (ids.unsqueeze(-1), labels.unsqueeze(-1), losses.unsqueeze(-1), probabilities)
        assert isinstance(self.rows, list)
        self.rows.append(torch.cat([column.double() for column in columns], dim=-1))

    def compute(self) -> Predicted:
        """All instances, sorted by id."""
        rows = dim_zero_cat(self.rows)
        rows = rows[rows[:, 0].argsort()]
        return Predicted(rows[:, 1].long(), rows[:, 3:].float(), rows[:, 2])
