"""The callbacks for single training steps: they end a run at NaN or infinity or on SIGTERM, and log gradient norms."""

import os
import signal
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from attest.lightning_modules.text_module import require_finite


class FiniteLoss(Callback):
    """A callback that stops a run if the training loss or a gradient is NaN or infinite, and names the ids of the batch.

    The run stops before the step, so that weights and checkpoints stay as they were.
    """

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self._ids = batch["id"]

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        require_finite(loss.detach(), self._ids, "training")

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        if getattr(trainer.precision_plugin, "scaler", None) is not None:
            return  # with scaled losses an infinite gradient is usual, and its step is left out
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        require_finite(get_total_norm(gradients), self._ids, "gradient of the training")


class StepSize(Callback):
    """A callback that logs the learning rate (of the first parameter group) and the gradient norm of every step.

    The norm is L2, before clipping. Both are computed only at the steps that the Trainer logs.
    """

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        if not trainer.loggers or (trainer.global_step + 1) % trainer.log_every_n_steps:  # type: ignore[attr-defined]
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
