"""E3 inside layers, on a part of the test split."""

import math
from typing import Any

import numpy as np
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.callbacks.evidence import data_of
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import LayerObservation, layer_adversarial_attention


class LayerAdversarialAttention(LayerEvidence):
    """E3: other attention, same prediction; columns as in ``attest.experiments.layers.adversarial_search``.

    Each step of the search is a forward and a backward pass, so it is asked of a part of the test split: whole batches, evenly
    spread over the lengths. The table has the rows of these texts alone.

    Args:
        texts: about how many test texts.
        epsilon, filter_epsilon, restarts, steps: as in ``attest.experiments.layers.adversarial_search``.
    """

    id = "E3"

    def __init__(
        self, texts: int = 64, epsilon: float = 0.01, filter_epsilon: float = 0.05, restarts: int = 2, steps: int = 200
    ) -> None:
        super().__init__(every_n_epochs=0)
        self.texts = texts
        self.epsilon, self.filter_epsilon = epsilon, filter_epsilon
        self.restarts, self.steps = restarts, steps

    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: dict[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Measure the batches of the part."""
        if self._in_part(trainer, batch_idx):
            super().on_test_batch_end(trainer, pl_module, outputs, batch, batch_idx, dataloader_idx)

    def _in_part(self, trainer: Trainer, batch_idx: int) -> bool:
        """The middle batch of each of as many equal stretches of the split as batches are wanted."""
        data = data_of(trainer)
        wanted = min(data.test_batches, math.ceil(self.texts / data.batch_size))
        chosen = ((np.arange(wanted) + 0.5) * data.test_batches / wanted).astype(int)
        return batch_idx * trainer.world_size + trainer.global_rank in chosen

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        seed = data_of(trainer).seed
        return layer_adversarial_attention(observation, self.epsilon, self.filter_epsilon, self.restarts, self.steps, seed)
