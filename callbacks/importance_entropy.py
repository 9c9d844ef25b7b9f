"""E10 at validation end and on the test split."""

from typing import Any

import torch
from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import Evidence, data_of
from attest.experiments import Observation, importance_entropy, sample_of_ids


class ImportanceEntropy(Evidence):
    """E10: entropy of importance; columns as in ``attest.experiments.importance_entropy``.

    Leave-one-out and the sample of Table 1 wait for the test split; at validation end the gradients speak alone.

    Args:
        texts, positions: how many test texts are sampled for Table 1, and how many hidden states of each.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E10"
    over_pairs = "the entropy of leave-one-out"

    def __init__(
        self, texts: int = 200, positions: int = 16, every_n_epochs: int = 1, validation_instances: int = 256
    ) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.texts, self.positions = texts, positions

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        if not trainer.testing:
            return importance_entropy(observation, leave_one_out=False)
        seed = data_of(trainer).seed
        everyone = torch.tensor(data_of(trainer).test.documents.ids, device=batch["id"].device)
        sampled = torch.isin(batch["id"], sample_of_ids(seed, everyone, self.texts))
        return importance_entropy(observation, True, sampled, self.positions, seed)
