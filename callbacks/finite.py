"""The callbacks for single training steps: they end a run at NaN or infinity or on SIGTERM, and log gradient norms."""

import os
import signal
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from attest.lightning_modules.optimisation import scales_gradients
from attest.lightning_modules.text_module import require_finite

NUMBERS_AT_ONCE = 100
"""On a GPU, so many losses and gradient norms are collected before they are read together: two for each of 50 steps."""


class FiniteLoss(Callback):
    """A callback that stops a run if the training loss or a gradient is NaN or infinite, and names the ids of the batch.

    On a CPU, the run stops before the step, so that weights stay as they were. On a GPU, which would have to finish all its
    work before each answer, losses and norms are read together: every 50 steps, before each validation and before each
    checkpoint. In both cases no checkpoint has seen such a number.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Tensor, Tensor, str]] = []
        """On a GPU: the numbers that have not been read yet, the oldest first. Each has a scalar tensor (a loss or a gradient
        norm), the ids of the batch's texts, int64 ``(B,)``, and a name for messages."""

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self._ids = batch["id"]

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        self._keep(loss.detach(), "training")

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        if scales_gradients(trainer):
            return  # with scaled losses an infinite gradient is usual, and its step is left out
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self._keep(get_total_norm(gradients), "gradient of the training")

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._read()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._read()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        self._read()

    def _keep(self, number: Tensor, what: str) -> None:
        self._waiting.append((number, self._ids, what))
        if number.device.type == "cpu" or len(self._waiting) >= NUMBERS_AT_ONCE:
            self._read()

    def _read(self) -> None:
        """Read all numbers that wait, in one copy from the device, and refuse the first that is not finite."""
        waiting, self._waiting = self._waiting, []
        numbers = torch.stack([number for number, _, _ in waiting]).cpu() if waiting else ()
        for number, (_, ids, what) in zip(numbers, waiting, strict=True):
            require_finite(number, ids, what)


class StepSize(Callback):
    """A callback that logs the learning rate (of the first parameter group) and the gradient norm of every step.

    The norm is L2, before clipping. Both are computed only at the steps that the Trainer logs.
    """

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        if not trainer.loggers or (trainer.global_step + 1) % trainer.log_every_n_steps:  # type: ignore[attr-defined]  # set late
            return
        groups = optimizer.param_groups
        gradients = [p.grad for group in groups for p in group["params"] if p.grad is not None]
        pl_module.log("train/learning_rate", float(groups[0]["lr"]))
        pl_module.log("train/gradient_norm", get_total_norm(gradients))


class EndAtOnce(Callback):
    """A callback that ends all processes of a run at once on SIGTERM; a resumed run continues from the last checkpoint.

    Lightning's own handler makes all ranks communicate. If a cluster signals all ranks together, they wait for one another for
    ever. A single process keeps that handler.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Replace Lightning's handler for SIGTERM if the run has several processes."""

        def end(signum: int, frame: Any) -> None:
            if (launcher := trainer.strategy.launcher) is not None:
                launcher.kill(signum)  # the ranks that this process has started
            if trainer.is_global_zero:
                os.write(2, b"attest: stopped; the same command takes the run up where it stopped.\n")
            os._exit(128 + signum)

        if trainer.world_size > 1:
            signal.signal(signal.SIGTERM, end)

    on_test_start = on_train_start
