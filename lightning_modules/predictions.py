"""Every prediction of an evaluation pass, so that scores are computed once, over all ranks' instances."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from attest.core.errors import AttestError
from attest.core.measures.chunks import chunk_counts, f1_of_counts, of_scheme, token_counts
from attest.core.measures.decisions import decision_scores

IDS_SHOWN = 10


class InstanceRows(Metric):
    """Collects one row of numbers an instance, batch by batch, and gathers them over ranks.

    Scores summed up rank by rank depend, in their last bits, on who saw which batch; scores of the sorted whole do not.
    A rank without instances must update with an empty batch, or the others wait for it.
    """

    full_state_update = False
    rows: list[Tensor] | Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, ids: Tensor, *columns: Tensor) -> None:
        """Add a batch: ids ``(B,)`` and any columns ``(B,)`` or ``(B, n)``; B may be 0."""
        assert isinstance(self.rows, list)
        wide = [column if column.ndim > 1 else column.unsqueeze(-1) for column in (ids, *columns)]
        self.rows.append(torch.cat([column.double() for column in wide], dim=-1))

    def compute(self) -> Tensor:
        """All instances sorted by id, float64 ``(N, 1 + columns)``, ids first; the same on every rank."""
        rows = dim_zero_cat(self.rows)
        return rows[rows[:, 0].argsort()]


class Predicted(NamedTuple):
    """All instances of a pass, sorted by id; the same on every rank, however instances were dealt."""

    ids: Tensor
    """int64 ``(N,)``."""
    labels: Tensor
    """int64 ``(N,)``."""
    probabilities: Tensor
    """float32 ``(N, K)``."""
    losses: Tensor
    """float64 ``(N,)``."""

    @classmethod
    def of(cls, rows: Tensor) -> "Predicted":
        """From the rows of a pass that was updated with ids, labels, losses and probabilities."""
        return cls(rows[:, 0].long(), rows[:, 1].long(), rows[:, 3:].float(), rows[:, 2])


def require_finite(losses: Tensor, ids: Tensor, stage: str) -> None:
    """Refuse losses that are no numbers, by the instances that have them.

    Args:
        losses: ``(N,)``, or of the whole batch ``()``.
        ids: int64 ``(N,)``.
        stage: of the run, for the message.
    Raises:
        AttestError: a loss is NaN or infinite.
    """
    finite = losses.isfinite()
    if finite.all():
        return
    bad = ids[~finite] if losses.ndim else ids
    raise AttestError(
        f"the {stage} loss is {'NaN' if losses.isnan().any() else 'infinite'} on the texts with the ids "
        f"{_some(bad.tolist())}; expected finite numbers. Saved files are unchanged. Look at these texts, lower the learning "
        "rate with --model.init_args.learning_rate_scale=0.1, or clip gradients with --trainer.gradient_clip_val=1"
    )


def _some(ids: list[int]) -> str:
    more = len(ids) - IDS_SHOWN
    return ", ".join(map(str, ids[:IDS_SHOWN])) + (f" and {more} more" if more > 0 else "")


def classification_scores(predicted: Predicted) -> dict[str, Tensor]:
    """Accuracy, F1 and ROC-AUC as ``decision_scores`` has them, and the mean loss."""
    return decision_scores(predicted.probabilities, predicted.labels) | {"loss": predicted.losses.mean().float()}


def tagging_columns(logits: Tensor, tags: Tensor, label_names: Sequence[str]) -> Tensor:
    """What each sentence contributes to the scores of a tagger, float64 ``(B, 12)``; B may be 0.

    Args:
        logits: ``(B, T, K)``.
        tags: int64 ``(B, T)``, -100 at padding.
        label_names: the K tags.
    Returns:
        sum of the tokens' losses, tokens, tokens tagged right; then what ``token_counts`` and ``chunk_counts`` return.
    """
    predicted, real = logits.argmax(dim=-1), tags >= 0
    losses = functional.cross_entropy(logits.transpose(1, 2), tags, reduction="none")
    counts = token_counts(predicted, tags, label_names), chunk_counts(predicted, tags, label_names)
    sums = (losses.double(), real, real & (predicted == tags))
    return torch.cat([*(each.sum(dim=-1, keepdim=True) for each in sums), *counts], dim=-1)


def tagging_scores(columns: Tensor) -> dict[str, Tensor]:
    """Scores over all tokens and chunks of sentences that ``tagging_columns`` describes, ``(N, 12)``.

    Returns:
        ``loss``, mean over tokens; ``accuracy`` over tokens, ``token_f1`` and ``chunk_f1``, in [0, 1], NaN where undefined:
        F1 where there is nothing to find and nothing found, and of chunks where tags mark none.
    """
    loss, tokens, right = columns[:, :3].sum(dim=0)
    return {
        "loss": (loss / tokens).float(),
        "accuracy": (right / tokens).float(),
        "token_f1": f1_of_counts(columns[:, 3:6]),
        "chunk_f1": f1_of_counts(of_scheme(columns[:, 6:])),
    }
