"""E13 on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import Evidence
from attest.experiments import Observation, identifiability


class Identifiability(Evidence):
    """E13: whether the outcome determines the attention; columns as in ``attest.experiments.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return identifiability(observation)
