"""E2 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import Evidence, data_of
from attest.experiments import Observation, attention_permutation


class AttentionPermutation(Evidence):
    """E2: random permutations of attention; columns as in ``attest.experiments.attention_permutation``.

    Args:
        permutations: per instance, 100 in the paper.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"

    def __init__(self, permutations: int = 100, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.permutations = permutations

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return attention_permutation(observation, self.permutations, data_of(trainer).seed)
