"""E14 on the test split."""

from typing import Any, Literal

import torch
from pytorch_lightning import Trainer

from attest.callbacks.evidence import datamodule_of, seed_of
from attest.callbacks.explaining import Explaining
from attest.experiments import Observation
from attest.experiments.erasure import Background, erasure


class Erasure(Explaining):
    """E14: what is ranked first erased by four operators; columns as in ``attest.experiments.erasure``.

    ``resample`` draws tokens from the training texts, where the DataModule has them as token ids.

    Args:
        texts: how many test texts are also read anew.
        sets: random sets of each size.
        beam_texts: how many of a batch get limits by beam search, where none are exact.
        explanation: as in ``Explaining``.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E14"
    experiment = staticmethod(erasure)

    def __init__(
        self,
        texts: int = 16,
        sets: int = 20,
        beam_texts: int = 0,
        explanation: Literal["attention", "rollout"] = "attention",
        every_n_epochs: int = 0,
        validation_instances: int = 256,
    ) -> None:
        super().__init__(explanation, every_n_epochs, validation_instances)
        self.options = {"sets": sets, "beam_texts": beam_texts}
        self.texts = texts
        self._background: Background | None = None

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        sampled = self.split.sampled(seed_of(trainer), observation, self.texts)
        return super().arguments(observation, trainer) | {
            "sampled": sampled,
            "background": self._drawn_from(trainer, observation),
        }

    def _drawn_from(self, trainer: Trainer, observation: Observation) -> Background | None:
        if observation.tokens.ndim > 2:
            return None
        self._background = self._background or drawn_from(trainer, observation.tokens.device)
        return self._background


def drawn_from(trainer: Trainer, device: torch.device) -> Background | None:
    """The training texts, where the DataModule has them as token ids."""
    flat = getattr(getattr(datamodule_of(trainer), "train", None), "flat", None)
    return None if flat is None else Background(*flat).to(device)
