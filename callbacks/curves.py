"""Learning curves, which are kept in checkpoints so that a resumed run has them whole."""

from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor

from attest.callbacks.running import all_gather, share_of_rank


class Curves(Callback):
    """A callback that keeps the training loss and all validation scores and evidence of every epoch in the checkpoint."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        """One entry an epoch: ``epoch``, ``step``, ``train/loss`` (mean over the batches of all ranks) and every logged
        validation value."""
        self._loss_sum: float | Tensor = 0.0
        self._batches = 0
        self._validated = False

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._validated = not trainer.sanity_checking

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "running": self._losses_of_ranks()}

    def _losses_of_ranks(self) -> list[tuple[float, int]]:
        return all_gather((float(self._loss_sum), self._batches))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = list(state_dict["epochs"])
        self._loss_sum, self._batches = _total(share_of_rank(state_dict.get("running", [])))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._loss_sum = self._loss_sum + trainer.callback_metrics["train/loss"].detach().to(torch.float64)
        self._batches += 1

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        known = trainer.callback_metrics if self._validated else {}  # else they are those of an epoch before
        logged = {name: float(value) for name, value in known.items() if "validation" in name}
        loss, batches = _total(self._losses_of_ranks())
        losses = {"train/loss": loss / max(batches, 1)}
        self.epochs.append({"epoch": trainer.current_epoch, "step": trainer.global_step} | losses | logged)
        self._loss_sum, self._batches, self._validated = 0.0, 0, False


def _total(running: list[tuple[float, int]]) -> tuple[float, int]:
    return sum(loss for loss, _ in running), sum(batches for _, batches in running)
