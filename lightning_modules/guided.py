"""The training in E6, in which a network learns with the attention of another network."""

from contextlib import AbstractContextManager, ExitStack
from typing import Any

from attest.core.attention.interventions import Intervention, attending, intervene
from attest.lightning_modules.base_network import DependentModule
from attest.lightning_modules.classifier import Classifier
from attest.lightning_modules.tagger import Tagger
from attest.lightning_modules.text_module import Batch


class FixedAttention(DependentModule):
    """A mixin for classifiers and taggers that use the attention of their base run's network; their own learns nothing."""

    def training_step(self, batch: Batch, batch_idx: int) -> Any:
        with self._attending_as_base(batch):
            return super().training_step(batch, batch_idx)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        with self._attending_as_base(batch):
            super().validation_step(batch, batch_idx)

    def on_test_batch_start(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Use the attention of the base run's network until ``on_test_batch_end``."""
        self._given = ExitStack()
        self._given.enter_context(self._attending_as_base(batch))

    def on_test_batch_end(self, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Use the network's own attention again after the callbacks have finished with the batch."""
        self._given.close()

    def _attending_as_base(self, batch: Batch) -> AbstractContextManager[None]:
        weights = self.base.reference(batch).weights
        return intervene(
            self.network, *(Intervention("weights", weights[name], layers=[name]) for name in attending(self.network))
        )


class GuidedClassifier(FixedAttention, Classifier):
    """A context-free classifier that gets its attention from its base run (Wiegreffe & Pinter 2019)."""


class ProbedTagger(FixedAttention, Tagger):
    """A tagger that uses the attention weights of another tagger in all its heads (Yang 2020, §4.3)."""
