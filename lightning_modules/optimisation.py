"""The optimiser of a network, with separate settings for the parameters of attention."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.cli import LRSchedulerCallable, OptimizerCallable, ReduceLROnPlateau
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from attest.core.errors import AttestError
from attest.models.offers import offers_of


@dataclass
class Optimisation:
    """The settings of a network's optimiser: its class, its schedule and its learning rates.

    Args:
        optimizer: makes the optimiser from parameter groups; the parameters of attention never have weight decay.
        scheduler: makes a learning-rate schedule from the optimiser. ``WarmUp`` changes the rate after every batch, all others
            after every epoch. None for a constant rate.
        learning_rate_scale: factor of the recipe's learning rate. In Meister et al., the learning rate of the Transformer is a
            tenth of that of the BiLSTM.
        attention_learning_rate_scale: additional factor of the learning rate of attention; 1 or 10 in Meister et al.
    """

    optimizer: OptimizerCallable = torch.optim.Adam
    scheduler: LRSchedulerCallable | None = None
    learning_rate_scale: float = 1.0
    attention_learning_rate_scale: float = 1.0

    def configure(
        self,
        network: nn.Module,
        steps: Callable[[], float] = lambda: math.inf,
        clips_scaled: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Return the optimiser and the schedule of a network in the form that Lightning expects.

        Args:
            network: may define ``attention_parameters``.
            steps: returns the number of batches of training, for schedules that depend on it.
            clips_scaled: returns whether gradients are scaled and clipped; see ``clips_scaled_gradients``.
        """
        if self.attention_learning_rate_scale != 1:
            require_attention_parameters(network)
        of_attention = offers_of(network).attention_parameters
        attending = [] if of_attention is None else [*of_attention()]
        theirs = {id(parameter) for parameter in attending}
        rest = [parameter for parameter in network.parameters() if id(parameter) not in theirs]
        optimizer = self.make([{"params": rest}, {"params": attending, "weight_decay": 0.0}], clips_scaled)
        others, attention = optimizer.param_groups
        others["lr"] = others["lr"] * self.learning_rate_scale
        attention["lr"] = attention["lr"] * self.learning_rate_scale * self.attention_learning_rate_scale
        if self.scheduler is None:
            return optimizer
        scheduler: Any = self.scheduler(optimizer)
        schedule = {"scheduler": scheduler, "interval": "epoch"}
        if isinstance(scheduler, WarmUp):
            scheduler.spread_over(steps())
            schedule["interval"] = "step"
        if isinstance(scheduler, ReduceLROnPlateau):
            schedule["monitor"] = scheduler.monitor
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def make(self, parameters: Iterable[Any], clips_scaled: Callable[[], bool] = lambda: False) -> torch.optim.Optimizer:
        """Return the optimiser for parameters, or for groups of parameters.

        A fused optimiser divides scaled gradients by their scale only in its own step, after they would be clipped; Lightning
        refuses it then, so an optimiser that is not fused takes its place.
        """
        parameters = list(parameters)
        try:
            optimizer = self.optimizer(parameters)
            if optimizer.defaults.get("fused") and clips_scaled():
                return cast(Any, self.optimizer)(parameters, fused=False)
            return optimizer
        except ValueError as error:
            raise AttestError(
                f"the optimiser cannot be created ({error}); expected valid values. Look at model.init_args."
            ) from error


def clips_scaled_gradients(module: LightningModule) -> bool:
    """Return whether a module's Trainer scales gradients (float16) and clips them; False without a Trainer."""
    try:
        trainer = module.trainer
    except RuntimeError:  # it has none
        return False
    return scales_gradients(trainer) and bool(trainer.gradient_clip_val)


def scales_gradients(trainer: Trainer) -> bool:
    """Return whether a Trainer scales losses, and so gradients, as it does in mixed precision with float16."""
    return trainer.precision == "16-mixed"


def training_steps(trainer: Trainer) -> float:
    """Return the number of optimiser steps of the whole training; infinity if training has no end.

    Lightning's ``estimated_stepping_batches`` is not used, because it sets the loaders up before a checkpoint is read: a
    resumed run would then begin its epoch again.
    """
    loader = cast(Any, trainer).datamodule.train_dataloader()
    limit, batches = trainer.limit_train_batches, len(loader)
    batches = min(batches, limit) if isinstance(limit, int) else int(batches * limit)
    epochs = math.inf if trainer.max_epochs in (None, -1) else trainer.max_epochs
    steps = math.ceil(batches / trainer.accumulate_grad_batches) * epochs
    return steps if trainer.max_steps in (None, -1) else min(steps, trainer.max_steps)


def require_attention_parameters(network: nn.Module) -> None:
    """Raise an ``AttestError`` if a network does not define ``attention_parameters``."""
    if offers_of(network).attention_parameters is None:
        raise AttestError(
            f"{type(network).__name__} has no method attention_parameters(), so attention cannot be trained alone or with its "
            "own learning rate; expected a method that returns the parameters of `score` and `project`. Define this method, "
            "or type --model.init_args.attention_learning_rate_scale=1 and VARIANT=unfrozen"
        )


class WarmUp(LRScheduler):
    """A learning-rate schedule that rises linearly to its maximum and then falls linearly to 0 (Devlin et al. 2019, A.2).

    Args:
        share: the share of all batches in which the rate rises, in [0, 1].
    """

    def __init__(self, optimizer: torch.optim.Optimizer, share: float = 0.1) -> None:
        self.share, self.steps = share, math.inf
        super().__init__(optimizer)

    def spread_over(self, steps: float) -> None:
        """Set the number of optimiser steps after which the schedule ends."""
        if not math.isfinite(steps):
            raise AttestError(
                "the learning-rate schedule needs the number of epochs, which is not set; expected a number of epochs. Type "
                "--trainer.max_epochs=3"
            )
        self.steps = steps

    def get_lr(self) -> list[Any]:
        rising = math.ceil(self.share * self.steps) if math.isfinite(self.steps) else 1
        height = max(0.0, (self.steps - self.last_epoch) / max(1, self.steps - rising))
        if self.last_epoch < rising:
            height = self.last_epoch / rising
        return [rate * height for rate in self.base_lrs]
