"""E8 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.attention import Projection
from attest.callbacks.evidence import Evidence
from attest.experiments import Observation, activation_swap


class ActivationSwap(Evidence):
    """E8: the trained model under other projections; columns as in ``attest.experiments.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.projections = projections

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return activation_swap(observation, self.projections, batch["label"])
