"""E14 for taggers, on a part of the test split."""

from pytorch_lightning import Trainer

from attest.callbacks.erasure import drawn_from
from attest.callbacks.evidence import Batch, Columns, seed_of
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.erasure import Background, tag_erasure
from attest.experiments.layers import LayerObservation


class TagErasure(LayerEvidence):
    """E14 about the tag of one token a sentence; columns as in ``attest.experiments.erasure.tag_erasure``.

    Args:
        texts: how many test sentences.
        sets: random sets of each size.
    """

    id = "E14"

    def __init__(self, texts: int = 64, sets: int = 20) -> None:
        super().__init__(every_n_epochs=0)
        self.texts, self.sets = texts, sets
        self._background: Background | None = None

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        seed = seed_of(trainer)
        self._background = self._background or drawn_from(trainer, observation.tokens.device)
        sampled = self.split.sampled(seed, observation, self.texts)
        return dict(tag_erasure(observation, sampled, seed, self.sets, self._background))
