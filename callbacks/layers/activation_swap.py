"""E8 inside layers, at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.attention import Projection
from attest.callbacks.layers.base import LayerEvidence, gold
from attest.experiments.layers import LayerObservation, layer_activation_swap


class LayerActivationSwap(LayerEvidence):
    """E8: other projections in each layer; columns as in ``attest.experiments.layers.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.projections = projections

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return layer_activation_swap(observation, self.projections, gold(batch))
