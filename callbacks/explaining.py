"""Experiments on an explanation, be it the attention that pools or attention rollout through the layers below."""

from typing import Any, Literal, cast

from pytorch_lightning import LightningModule

from attest.callbacks.evidence import Batch, Evidence
from attest.callbacks.layers.base import observed_layers
from attest.experiments import Observation
from attest.experiments.layers import attention_rollout


class Explaining(Evidence):
    """An experiment that asks of ``observation.explanation`` alone which tokens matter.

    Args:
        explanation: ``attention``, the weights that pool, which must be learned; or ``rollout``, from them down to the tokens
            through the attention of all layers, where a Transformer has its attention inside.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    def __init__(
        self,
        explanation: Literal["attention", "rollout"] = "attention",
        every_n_epochs: int = 1,
        validation_instances: int = 256,
    ) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.explanation = explanation

    def observe(self, pl_module: LightningModule, batch: Batch) -> Observation:
        """The pooled observation, with rollout in place of its attention if that is on trial."""
        if self.explanation == "attention":
            return super().observe(pl_module, batch)
        observation = cast(Any, pl_module).observe_steps(batch)
        attention = observed_layers(pl_module, batch).attention
        return observation.explained_by(attention_rollout(attention, observation.attention))
