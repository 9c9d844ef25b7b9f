"""E14 for taggers, on a part of the test split."""

from typing import Any

from pytorch_lightning import Trainer

from attest.callbacks.erasure import drawn_from
from attest.callbacks.evidence import Batch, Columns, seed_of
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.erasure import Background, about_one_token, erasure
from attest.experiments.layers import LayerObservation


class TagErasure(LayerEvidence):
    """E14 about the tag of one token a sentence; columns as in ``attest.experiments.erasure``, and ``token``, the drawn place.

    The ranking is attention rollout from that token. The token itself is never erased. Soft scores and parameters made anew
    are left out. Sentences outside the sample have NaN.

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
        asked, place = about_one_token(observation, seed)
        sampled = self.split.sampled(seed, observation, self.texts)
        columns: dict[str, Any] = erasure(asked, sampled, seed, self.sets, self._background, extras=False)
        return columns | {"token": place}
