"""The training of a tagger whose self-attention will be tested."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from torchmetrics import Metric, MetricCollection

from attest.core.errors import AttestError
from attest.core.labels import UNLABELLED
from attest.core.measures.chunks import chunk_counts, f1_of_counts, of_scheme, token_counts
from attest.lightning_modules.text_module import Batch, TextModule


class Tagger(TextModule):
    """A LightningModule that trains a network to predict one tag per token.

    Batches contain ``token_ids`` int64 (B, T), ``mask`` bool (B, T) and ``tags`` int64 (B, T), -100 at padding. Logs
    ``train/loss`` and ``{validation,test}/{loss,accuracy,token_f1,chunk_f1}``. Validation and test scores are computed over
    all tokens or chunks of a split, so they do not depend on the batches.

    Args:
        network: makes the network from vocabulary size and number of tags.
        label_names: the tags, ``B-NP`` and the like, in the order of their ids; given by the data.
        num_classes, options: as in ``TextModule``.
    Raises:
        AttestError: there are not as many names as tags.
    """

    predicts = "tags"
    """What the model predicts: one tag for each token. Commands that train adversaries and controls of a run choose by this
    value what they train."""
    target = "tags"

    def __init__(
        self,
        network: Callable[[int, int], nn.Module],
        *,
        label_names: Sequence[str] = ("O", "B-NP"),
        num_classes: int = 2,
        **options: Any,
    ) -> None:
        if len(label_names) != num_classes:
            raise AttestError(
                f"label_names has {len(label_names)} names for {num_classes} tags; expected one name for each tag. Add the "
                "missing names, or remove names."
            )
        super().__init__(network, num_classes=num_classes, **options)
        self.label_names = tuple(label_names)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits = self(self.training_tokens(batch), batch["mask"])
        loss = functional.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten(), ignore_index=UNLABELLED)
        self.log("train/loss", loss.detach(), batch_size=len(batch["mask"]))
        return loss

    def collect(self, stage: str, batch: Batch) -> dict[str, Any]:
        """Collect the loss and the counts of each sentence.

        The columns: sum of token losses, number of tokens, number of right tags, ``token_counts``, ``chunk_counts``.
        """
        tags = batch["tags"]
        logits = self(batch["token_ids"], batch["mask"])
        predicted, real = logits.argmax(dim=-1), tags >= 0
        losses = functional.cross_entropy(logits.transpose(1, 2), tags, reduction="none")
        sums = (each.sum(dim=-1) for each in (losses.double(), real, real & (predicted == tags)))
        counts = (count(predicted, tags, self.label_names) for count in (token_counts, chunk_counts))
        self.collected(stage).update(batch["id"], *sums, *counts)
        return {}

    def scores(self, rows: Tensor, metrics: MetricCollection) -> dict[str, Tensor | Metric]:
        """Return the loss, the accuracy, and the F1 scores of tokens and chunks in a split.

        Args:
            rows: the columns that ``collect`` collects, float64 ``(N, 12)``.
            metrics: none of our own, because rows have counts of a sentence and no tag of a token.
        Returns:
            ``loss``, mean over tokens; ``accuracy`` over tokens, ``token_f1`` and ``chunk_f1``, in [0, 1]. F1 is NaN if there
            are neither true nor predicted items; ``chunk_f1`` is also NaN if the tags do not mark chunks.
        """
        loss, tokens, right = rows[:, :3].sum(dim=0)
        return {
            "loss": (loss / tokens).float(),
            "accuracy": (right / tokens).float(),
            "token_f1": f1_of_counts(rows[:, 3:6]),
            "chunk_f1": f1_of_counts(of_scheme(rows[:, 6:])),
        }
