"""E9, shuffling, at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import data_of
from attest.callbacks.layers.base import LayerEvidence, gold
from attest.experiments.layers import LayerObservation, key_shuffle


class KeyShuffle(LayerEvidence):
    """E9: keys permuted over tokens; columns as in ``attest.experiments.layers.key_shuffle``.

    Args:
        draws: shuffles per instance.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E9"

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.draws = draws

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return key_shuffle(observation, self.draws, data_of(trainer).seed, gold(batch))
