"""E12 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import Evidence, data_of
from attest.experiments import Observation, erasure_until_flip


class ErasureUntilFlip(Evidence):
    """E12: weights erased until the decision flips; columns as in ``attest.experiments.erasure_until_flip``.

    Args:
        draws: random orders, averaged.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E12"

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.draws = draws

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return erasure_until_flip(observation, data_of(trainer).seed, self.draws)
