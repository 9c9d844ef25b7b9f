"""Scores of tagged sequences: whole chunks by seqeval, single tokens by counting.

Both accumulate counts, so ten batches score as one and two ranks as one.
"""

from collections.abc import Sequence
from typing import Any

import torch
from seqeval.scheme import IOB2, Entities
from torch import Tensor
from torchmetrics import Metric


class _CountingF1(Metric):
    """Micro-averaged F1 from counts: 2 · correct / (predicted + gold), 0 where nothing is predicted or gold."""

    full_state_update = False
    correct: Tensor
    predicted: Tensor
    gold: Tensor

    def __init__(self, label_names: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.label_names = list(label_names)
        for count in ("correct", "predicted", "gold"):
            self.add_state(count, default=torch.tensor(0), dist_reduce_fx="sum")

    def compute(self) -> Tensor:
        """F1 over all that was seen, in [0, 1]."""
        return 2 * self.correct / (self.predicted + self.gold).clamp(min=1)


class ChunkF1(_CountingF1):
    """F1 of whole chunks, strict IOB2: type and both ends must be right (``seqeval``, mode strict).

    Args:
        label_names: the tags in the order of their ids, ``B-NP``, ``I-NP``, ``O`` and the like.
    """

    def update(self, predicted: Tensor, gold: Tensor) -> None:
        """Add sentences: int64 tags ``(B, T)`` each; where the gold tag is negative there is no token."""
        guessed, true = self._chunks(predicted, gold), self._chunks(gold, gold)
        self.correct += len(guessed & true)
        self.predicted += len(guessed)
        self.gold += len(true)

    def _chunks(self, tags: Tensor, gold: Tensor) -> set[tuple[int, int, int, str]]:
        sentences = [[self.label_names[tag] for tag in row[real].tolist()] for row, real in zip(tags, gold >= 0, strict=True)]
        found = Entities(sentences, scheme=IOB2).entities
        return {(row, chunk.start, chunk.end, chunk.tag) for row, chunks in enumerate(found) for chunk in chunks}


class TokenF1(_CountingF1):
    """F1 of single tokens, micro-averaged over all tags but ``O``, which marks what is in no chunk.

    Args:
        label_names: the tags in the order of their ids.
    """

    def update(self, predicted: Tensor, gold: Tensor) -> None:
        """Add sentences: int64 tags ``(B, T)`` each; where the gold tag is negative there is no token."""
        outside = self.label_names.index("O") if "O" in self.label_names else -1
        real = gold >= 0
        claimed, true = real & (predicted != outside), real & (gold != outside)
        self.correct += (claimed & true & (predicted == gold)).sum()
        self.predicted += claimed.sum()
        self.gold += true.sum()
