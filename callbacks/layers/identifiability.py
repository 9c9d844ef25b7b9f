"""E13 inside layers, on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import LayerObservation, layer_identifiability


class LayerIdentifiability(LayerEvidence):
    """E13: whether heads determine their attention; columns as in ``attest.experiments.layers.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return layer_identifiability(observation)
