"""E15 on the test split."""

from collections.abc import Mapping
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.callbacks.evidence import Batch, Columns, Evidence, seed_of
from attest.experiments import Observation
from attest.experiments.readings import side_by_side


class SideBySide(Evidence):
    """E15: every reading of the model on a sample of texts; columns as in ``attest.experiments.side_by_side``.

    The seconds that each reading takes stand in the run's ``timing.json``, as ``seconds_a_text``, measured on the texts of the
    first process.

    Args:
        texts: how many test texts are sampled.
        sets: random sets of each size.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E15"
    experiment = staticmethod(side_by_side)
    observes = "observe_steps"

    def __init__(self, texts: int = 20, sets: int = 20, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, sets=sets)
        self.texts = texts
        self._clock: dict[str, float] = {}
        self._timed = 0

    def measure(self, observation: Observation, batch: Batch, trainer: Trainer) -> Columns:
        arguments = self.arguments(observation, trainer)
        self._timed += int((arguments["sampled"] & (observation.lengths > 1)).sum())
        return side_by_side(observation, truth=_truth(observation, batch), **arguments)

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        sampled = self.split.sampled(seed_of(trainer), observation, self.texts)
        return super().arguments(observation, trainer) | {"sampled": sampled, "clock": self._clock}

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_test_epoch_end(trainer, pl_module)
        if self.enabled_on_test and self.folder is not None and trainer.is_global_zero and self._timed:
            self.folder.note(seconds_a_text={name: seconds / self._timed for name, seconds in self._clock.items()})
        self._clock, self._timed = {}, 0


def _truth(observation: Observation, batch: Batch) -> Tensor | None:
    """The tokens that decide, where the corpus knows them."""
    rationale = batch.get("rationale") if isinstance(batch, Mapping) else None
    return rationale if rationale is not None and rationale.shape == observation.mask.shape else None
