"""Training a tagger whose self-attention will be put on trial."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.nn import functional

from attest.core.errors import AttestError
from attest.experiments.layers import LayerObservation, observe_layers
from attest.lightning_modules.masking import Masking, training_tokens
from attest.lightning_modules.optimisation import Optimisation, training_steps
from attest.lightning_modules.predictions import InstanceRows, require_finite, tagging_columns, tagging_scores
from attest.lightning_modules.vectors import load_vectors

Batch = dict[str, Tensor]
NO_TAG = -100
"""The tag of padding: no loss, no score."""


class Tagger(LightningModule):
    """A network trained on one tag per token.

    Batches hold ``token_ids`` int64 (B, T), ``mask`` bool (B, T) and ``tags`` int64 (B, T), -100 at padding. Logs
    ``train/loss`` and ``{validation,test}/{loss,accuracy,token_f1,chunk_f1}``; all are over tokens or chunks of the whole
    split, so batches do not matter.

    Args:
        network: makes the network from vocabulary size and number of tags.
        optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale: as in ``Optimisation``.
        masking: as in ``Classifier``.
        vocab_size: number of token ids; given by the data.
        num_classes: K, number of tags; given by the data.
        label_names: the tags, ``B-NP`` and the like, in the order of their ids; given by the data.
        pretrained_embeddings: vectors to start the token embedding from, or None; given by the data.
        freeze_embeddings: whether training leaves the token embedding as it starts.
    """

    predicts = "tags"
    """One tag a token: what runs that depend on it take it for."""

    def __init__(
        self,
        network: Callable[[int, int], nn.Module],
        optimizer: OptimizerCallable = torch.optim.Adam,
        scheduler: LRSchedulerCallable | None = None,
        learning_rate_scale: float = 1.0,
        attention_learning_rate_scale: float = 1.0,
        masking: Masking | None = None,
        vocab_size: int = 2,
        num_classes: int = 2,
        label_names: Sequence[str] = ("O", "B-NP"),
        pretrained_embeddings: Tensor | None = None,
        freeze_embeddings: bool = False,
    ) -> None:
        super().__init__()
        if len(label_names) != num_classes:
            raise AttestError(f"label_names: {len(label_names)} names for {num_classes} tags; expected one for each.")
        self.network = network(vocab_size, num_classes)
        load_vectors(self.network, pretrained_embeddings, vocab_size, freeze_embeddings)
        self.optimisation = Optimisation(optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale)
        self.masking = masking
        self.label_names = tuple(label_names)
        self.sentences = nn.ModuleDict({f"{stage}_split": InstanceRows() for stage in ("validation", "test")})

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(B, T)`` -> logits of tags ``(B, T, K)``."""
        return self.network(tokens, mask)

    def observe_layers(self, batch: Batch) -> LayerObservation:
        """What the network's layers attend to."""
        special = batch["word"] < 0 if "word" in batch else None
        return observe_layers(self.network, batch["id"], batch["token_ids"], batch["mask"], batch.get("tags"), special)

    def model_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits ``(B, T, K)`` and the mean cross-entropy of the batch's tokens, ``()``."""
        logits = self(batch["token_ids"], batch["mask"])
        return logits, functional.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten(), ignore_index=NO_TAG)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Loss of one batch."""
        _, loss = self.model_step(batch | {"token_ids": training_tokens(self, batch)})
        self.log("train/loss", loss.detach(), prog_bar=True, batch_size=len(batch["mask"]))
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Score one batch."""
        self._score("validation", batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Score one batch."""
        self._score("test", batch)

    def _score(self, stage: str, batch: Batch) -> None:
        """Collect what each sentence contributes; the empty batch of a rank without any is not shown to the network."""
        tags = batch["tags"]
        logits = self(batch["token_ids"], batch["mask"]) if len(tags) else self._no_logits(tags)
        self._collected(stage).update(batch["id"], tagging_columns(logits, tags, self.label_names))

    def _no_logits(self, tags: Tensor) -> Tensor:
        return torch.zeros(*tags.shape, len(self.label_names), device=self.device)

    def on_validation_epoch_end(self) -> None:
        """Log the validation scores."""
        self._log_scores("validation")

    def on_test_epoch_end(self) -> None:
        """Log the test scores."""
        self._log_scores("test")

    def _log_scores(self, stage: str) -> None:
        collected = self._collected(stage)
        ids, columns = collected.compute().split([1, 12], dim=-1)
        require_finite(columns[:, 0], ids.squeeze(-1).long(), stage)
        scores = tagging_scores(columns)
        self.log_dict({f"{stage}/{name}": score for name, score in scores.items()}, prog_bar=stage == "validation")
        collected.reset()

    def _collected(self, stage: str) -> InstanceRows:
        rows = self.sentences[f"{stage}_split"]
        assert isinstance(rows, InstanceRows)
        return rows

    def configure_optimizers(self) -> Any:
        """One optimiser over two groups, attention and the rest; and its schedule, if there is one."""
        return self.optimisation.configure(self.network, lambda: training_steps(self.trainer))
