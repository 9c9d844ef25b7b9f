"""Learning curves that survive a stop: what was logged at the end of every epoch."""

from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor


class Curves(Callback):
    """Remembers, in the checkpoint, training loss and all validation scores and evidence of every epoch."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        """One entry an epoch: ``epoch``, ``step``, ``train/loss`` (mean over batches) and every logged validation value."""
        self._loss_sum: float | Tensor = 0.0
        self._batches = 0

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "loss_sum": float(self._loss_sum), "batches": self._batches}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = list(state_dict["epochs"])
        self._loss_sum, self._batches = state_dict["loss_sum"], state_dict["batches"]

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._loss_sum = self._loss_sum + trainer.callback_metrics["train/loss"].detach().to(torch.float64)
        self._batches += 1

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        logged = {name: float(value) for name, value in trainer.callback_metrics.items() if "validation" in name}
        loss = float(self._loss_sum) / max(self._batches, 1)
        self.epochs.append({"epoch": trainer.current_epoch, "step": trainer.global_step, "train/loss": loss} | logged)
        self._loss_sum, self._batches = 0.0, 0
