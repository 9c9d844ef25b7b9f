"""E10 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer

from attest.callbacks.evidence import Evidence, seed_of
from attest.experiments import Observation, importance_entropy


class ImportanceEntropy(Evidence):
    """E10: entropy of importance; columns as in ``attest.experiments.importance_entropy``.

    Leave-one-out and the sample of Table 1 wait for the test split; at validation end the gradients speak alone.

    Args:
        texts, positions: how many test texts are sampled for Table 1, and how many hidden states of each.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E10"
    experiment = staticmethod(importance_entropy)
    quadratic = "the entropy of leave-one-out"

    def __init__(
        self, texts: int = 200, positions: int = 16, every_n_epochs: int = 1, validation_instances: int = 256
    ) -> None:
        super().__init__(every_n_epochs, validation_instances, positions=positions)
        self.texts = texts

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        if not trainer.testing:
            return {"leave_one_out": False}
        sampled = self.split.sampled(seed_of(trainer), observation, self.texts)
        return super().arguments(observation, trainer) | {"sampled": sampled}
