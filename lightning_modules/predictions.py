"""The predictions of an evaluation pass, collected over all ranks, so that scores are computed once over all instances."""

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from attest.core.errors import AttestError
from attest.datamodules.notice import some


class InstanceRows(Metric):
    """A collection with one row of numbers per instance, filled batch by batch and gathered over all ranks.

    Scores summed up rank by rank depend, in their last bits, on who saw which batch; scores of the sorted whole do not.
    A rank without instances must update with an empty batch, or the others wait for it.
    """

    full_state_update = False
    rows: list[Tensor] | Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, ids: Tensor, *columns: Tensor) -> None:
        """Add the rows of a batch of B instances: ids ``(B,)`` and columns ``(B,)`` or ``(B, n)``; B may be 0."""
        assert isinstance(self.rows, list)
        wide = [column if column.ndim > 1 else column.unsqueeze(-1) for column in (ids, *columns)]
        self.rows.append(torch.cat([column.double() for column in wide], dim=-1))

    def compute(self) -> Tensor:
        """Return the rows of all N instances sorted by id, float64 ``(N, 1 + columns)``, ids first; the same on every rank."""
        rows = dim_zero_cat(self.rows)
        return rows[rows[:, 0].argsort()]


def require_finite(losses: Tensor, ids: Tensor, stage: str) -> None:
    """Raise an ``AttestError`` that names the instances whose losses are NaN or infinite, if there are any.

    Args:
        losses: ``(N,)``, or of the whole batch ``()``.
        ids: int64 ``(N,)``.
    """
    finite = losses.isfinite()
    if finite.all():
        return
    bad = ids[~finite] if losses.ndim else ids
    raise AttestError(
        f"the {stage} loss is {'NaN' if losses.isnan().any() else 'infinite'} on the texts with the ids "
        f"{some([*map(str, bad.tolist())], few=10)}; expected finite numbers. Saved files are unchanged. Look at these texts, "
        "lower the learning rate with --model.init_args.learning_rate_scale=0.1, or clip gradients with "
        "--trainer.gradient_clip_val=1"
    )
