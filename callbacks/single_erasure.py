"""E11 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import Evidence, data_of
from attest.experiments import Observation, single_erasure


class SingleErasure(Evidence):
    """E11: the most attended token erased, or another; columns as in ``attest.experiments.single_erasure``."""

    id = "E11"

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        return single_erasure(observation, data_of(trainer).seed)
