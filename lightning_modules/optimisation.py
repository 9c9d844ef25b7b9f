"""One optimiser for everything a network learns, attention apart from the rest.

The papers train attention without weight decay and sometimes faster; two parameter groups of one optimiser say the same as
the two or three optimisers of their code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from pytorch_lightning.cli import LRSchedulerCallable, OptimizerCallable, ReduceLROnPlateau
from torch import nn

from attest.errors import AttestError


@dataclass
class Optimisation:
    """How a network is optimised.

    Args:
        optimizer: makes the optimiser from parameter groups; attention gets no weight decay, whatever the optimiser's.
        scheduler: makes a learning rate schedule from the optimiser, stepped once an epoch; None for a constant rate.
        learning_rate_scale: multiplies the recipe's learning rate. Meister et al. train their Transformer ten times slower
            than their BiLSTM.
        attention_learning_rate_scale: multiplies that of attention once more; 1 or 10 in Meister et al.
    """

    optimizer: OptimizerCallable = torch.optim.Adam
    scheduler: LRSchedulerCallable | None = None
    learning_rate_scale: float = 1.0
    attention_learning_rate_scale: float = 1.0

    def configure(self, network: nn.Module) -> Any:
        """What ``configure_optimizers`` returns for a network, which may tell its ``attention_parameters``.

        Raises:
            AttestError: attention is to be trained at another rate, and the network does not tell its parameters.
        """
        if self.attention_learning_rate_scale != 1:
            require_attention_parameters(network)
        optimizer = self.optimizer(parameter_groups(network))
        others, attention = optimizer.param_groups
        others["lr"] = others["lr"] * self.learning_rate_scale
        attention["lr"] = attention["lr"] * self.learning_rate_scale * self.attention_learning_rate_scale
        if self.scheduler is None:
            return optimizer
        return {"optimizer": optimizer, "lr_scheduler": _schedule(self.scheduler, optimizer)}


def parameter_groups(network: Any) -> list[dict[str, Any]]:
    """All parameters but those of attention, then those of attention, which are never decayed; none where untold."""
    attention = list(network.attention_parameters()) if hasattr(network, "attention_parameters") else []
    theirs = {id(parameter) for parameter in attention}
    others = [parameter for parameter in network.parameters() if id(parameter) not in theirs]
    return [{"params": others}, {"params": attention, "weight_decay": 0.0}]


def require_attention_parameters(network: nn.Module) -> None:
    """Refuse a network that does not tell which of its parameters make attention, where that must be known.

    Raises:
        AttestError: it does not.
    """
    if not hasattr(network, "attention_parameters"):
        raise AttestError(
            f"{type(network).__name__} lacks attention_parameters; expected attention_parameters() -> the parameters of score "
            "and project, where these are trained by themselves or at another rate. Define it, or type "
            "--model.init_args.attention_learning_rate_scale=1 and VARIANT=unfrozen"
        )


def _schedule(make: Callable[[torch.optim.Optimizer], Any], optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    scheduler = make(optimizer)
    monitored = {"monitor": scheduler.monitor} if isinstance(scheduler, ReduceLROnPlateau) else {}
    return {"scheduler": scheduler, "interval": "epoch"} | monitored
