"""How training moves: the learning rate and the norm of the gradient, logged as the loss is."""

from pytorch_lightning import Callback, LightningModule, Trainer
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer


class StepSize(Callback):
    """Logs ``train/learning_rate``, of the first group of parameters, and ``train/gradient_norm``, L2, before clipping.

    At the steps that the Trainer logs, so that no other step waits for a norm.
    """

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Between the gradient and the step."""
        if not trainer.loggers or (trainer.global_step + 1) % trainer.log_every_n_steps:  # type: ignore[attr-defined]
            return
        groups = optimizer.param_groups
        gradients = [p.grad for group in groups for p in group["params"] if p.grad is not None]
        pl_module.log("train/learning_rate", float(groups[0]["lr"]))
        pl_module.log("train/gradient_norm", get_total_norm(gradients))
