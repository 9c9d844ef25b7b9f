"""E2 inside layers, on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import data_of
from attest.callbacks.layers.base import LayerEvidence, gold
from attest.experiments.layers import LayerObservation, layer_permutation


class LayerPermutation(LayerEvidence):
    """E2: rows of attention permuted; columns as in ``attest.experiments.layers.permutation``.

    Args:
        permutations: per instance; each costs a forward pass for every layer and one for all.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"

    def __init__(self, permutations: int = 10, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.permutations = permutations

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return layer_permutation(observation, self.permutations, data_of(trainer).seed, gold(batch))
