"""Experiments on an explanation: attention that pools, or attention rollout through the layers."""

from typing import Literal

from pytorch_lightning import LightningModule

from attest.callbacks.evidence import Batch, Evidence
from attest.experiments import Observation
from attest.experiments.layers import LayerObservation, attention_rollout, where_rollout_begins


class Explaining(Evidence):
    """An experiment that asks of ``observation.explanation`` alone which tokens matter.

    Args:
        explanation: ``attention``, the weights that pool, which must be learned; or ``rollout``, from them down to the tokens
            through the attention of all layers, where a Transformer has its attention inside: the LightningModule then offers
            ``observe_steps(batch)``, which observes what pools even if that is a mean, and ``observe_layers(batch)``.
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

    @property
    def methods(self) -> tuple[str, ...]:
        return ("observe",) if self.explanation == "attention" else ("observe_steps", "observe_layers")

    def observe(self, pl_module: LightningModule, batch: Batch) -> Observation:
        """The pooled observation, with rollout in place of its attention if that is on trial."""
        return self.by_rollout(*(self._running.observed(pl_module, method) for method in self.methods))

    @staticmethod
    def by_rollout(first: Observation, layers: LayerObservation | None = None) -> Observation:
        """The observation with rollout in place of its attention; as it is where there are no layers to go through."""
        if layers is None:
            return first
        return first.explained_by(attention_rollout(layers.attention, where_rollout_begins(first)))
