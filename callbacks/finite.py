"""Stop training before a NaN or infinite number reaches the weights."""

from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from attest.lightning_modules.predictions import require_finite


class FiniteLoss(Callback):
    """Stops a run whose training loss or gradient is NaN or infinite, with the ids of the batch.

    Before the step, so that weights and checkpoints stay as they were. One number a step is waited for.
    """

    def __init__(self) -> None:
        self._ids = torch.empty(0)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self._ids = batch["id"]

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        require_finite(loss.detach(), self._ids, "training")

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        if getattr(trainer.precision_plugin, "scaler", None) is not None:
            return  # with scaled losses an infinite gradient is usual, and its step is left out
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        require_finite(get_total_norm(gradients), self._ids, "gradient of the training")
