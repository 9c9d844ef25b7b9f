"""The experiments as callbacks, by id in ``Experiment`` or by name, such as ``Erasure``.

A class names its function and the options that YAML may set; the function describes columns and options, and has the defaults.
Classes whose names begin with ``Layer`` run an experiment on the attention inside the layers of a Transformer. Most classes
also take ``every_n_epochs`` and ``validation_instances`` of ``Evidence``; signatures call them ``schedule``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import pandas as pd
from pytorch_lightning import LightningModule, Trainer

from attest.callbacks.evidence import Batch, Columns, Evidence, datamodule_of
from attest.core.attention import Projection
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.core.measures.summary import by_text
from attest.datamodules import TextDataModule
from attest.experiments import Observation
from attest.experiments.deciding.observed import OF_SENTENCES
from attest.experiments.erasure.four_operators import OperatorName
from attest.experiments.layers import LayerObservation, read_from_layers
from attest.experiments.registry import ConfiguredExperiment, askable
from attest.experiments.verdict import share_of
from attest.runs.folder import write_json

POOLED, LAYERS, TAGGERS = askable(), askable(inside=True), askable(inside=True, kind=TAGS)


class Experiment(Evidence):
    """A callback that runs an experiment, given by its id or as a function: ``Experiment("E12", draws=10)``.

    Args:
        id: the id of the experiment, which is also its file name and the prefix of its metrics.
        experiment: a function of an observation, what it ``reads`` and the ``options``. It returns columns of one number per
            instance ``(B,)`` or token ``(B, T)``. None for the registry's experiment of this id.
        every_n_epochs, validation_instances: as in ``Evidence``.
        reads: the attributes of ``attest.experiments.registry.Context`` that the function is given, such as ``seed`` and
            ``labels``; None for those that its parameters are named after.
        options: options of the experiment, by the names of its parameters.
    Raises:
        AttestError: the experiment does not have one of the options or cannot read what ``reads`` says, or the registry has
            no experiment of this id.
    """

    _known: ClassVar[Mapping[str, ConfiguredExperiment]] = POOLED

    def __init__(
        self,
        id: str,
        experiment: Callable[..., Columns] | None = None,
        every_n_epochs: int = 1,
        validation_instances: int = 256,
        reads: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        known = self._known
        if experiment is None and id not in known:
            raise AttestError(f"the experiment {id} is not known; expected one of: {', '.join(known)}, or your own function.")
        if experiment is None and reads is not None:
            raise AttestError(
                f"{id} says itself what it reads; expected reads= with a function of your own. Leave reads= out."
            )
        self.id, self.experiment, self.reads = id, known[id] if experiment is None else experiment, reads
        super().__init__(every_n_epochs, validation_instances, **options)


class Explaining(Evidence):
    """A callback for experiments that need only an explanation: attention, or attention rollout.

    Args:
        explanation: ``attention``, the weights that pool the tokens, which must be learned; or ``rollout``, for a Transformer:
            the pooling weights, learned or equal, are traced down to the tokens through the attention of all layers. For
            ``rollout``, the LightningModule must have the methods ``observe_steps(batch)`` and ``observe_layers(batch)``.
        options: as in ``Evidence``.
    """

    def __init__(self, explanation: Literal["attention", "rollout"] = "attention", **options: Any) -> None:
        super().__init__(**options)
        self.explanation = explanation

    @property
    def methods(self) -> tuple[str, ...]:
        return ("observe",) if self.explanation == "attention" else ("observe_steps", "observe_layers")

    def observe(self, pl_module: LightningModule, batch: Batch) -> Observation:
        """Return what the model computes on a batch; the explanation is attention or, if chosen, attention rollout."""
        return self.together(*(self._running.observe(pl_module, method) for method in self.methods))

    @staticmethod
    def together(first: Observation, layers: LayerObservation | None = None) -> Observation:
        """Return the observation with attention rollout in place of attention, or unchanged if ``layers`` is None."""
        return first if layers is None else first.explained_by(read_from_layers(first, layers.attention))


class FeatureImportance(Explaining):
    """A callback for E1, which compares attention with feature importance.

    Leave-one-out, which reads a text once for each token, is computed on the test split alone.
    """

    id = "E1"
    experiment = POOLED["E1"]

    def __init__(
        self, explanation: Literal["attention", "rollout"] = "attention", l1: bool | None = None, **options: Any
    ) -> None:
        super().__init__(explanation, l1=l1, **options)


class AttentionPermutation(Evidence):
    """A callback for E2, which permutes the attention weights of the tokens."""

    id = "E2"
    experiment = POOLED["E2"]

    def __init__(self, permutations: int | None = None, **schedule: int) -> None:
        super().__init__(permutations=permutations, **schedule)


class AdversarialAttention(Evidence):
    """A callback for E3, which looks for very different attention that gives the same prediction.

    The gradient search runs only on the test split; at validation end only the exact solution is computed, which costs little.
    """

    id = "E3"
    experiment = POOLED["E3"]

    def __init__(
        self,
        epsilon: float | None = None,
        filter_epsilon: float | None = None,
        restarts: int | None = None,
        steps: int | None = None,
        **schedule: int,
    ) -> None:
        super().__init__(epsilon=epsilon, filter_epsilon=filter_epsilon, restarts=restarts, steps=steps, **schedule)


class ActivationSwap(Evidence):
    """A callback for E8, which replaces a trained model's attention projection, such as softmax, by another one."""

    id = "E8"
    experiment = POOLED["E8"]

    def __init__(self, projections: dict[str, Projection] | None = None, **schedule: int) -> None:
        super().__init__(projections=projections, **schedule)


class ImportanceEntropy(Evidence):
    """A callback for E10, which measures whether few tokens or many tokens have most of the importance.

    Leave-one-out and the influence on hidden states are computed on the test split alone.
    """

    id = "E10"
    experiment = POOLED["E10"]

    def __init__(
        self, texts: int | None = None, positions: int | None = None, facets: bool | None = None, **schedule: int
    ) -> None:
        super().__init__(texts=texts, positions=positions, facets=facets, **schedule)


class SingleErasure(Evidence):
    """A callback for E11, which erases the most attended token or a random other token."""

    id = "E11"
    experiment = POOLED["E11"]


class ErasureUntilFlip(Evidence):
    """A callback for E12, which sets attention weights to zero until the decision changes."""

    id = "E12"
    experiment = POOLED["E12"]

    def __init__(self, draws: int | None = None, **schedule: int) -> None:
        super().__init__(draws=draws, **schedule)


class Identifiability(Evidence):
    """A callback for E13, which measures whether the output of attention determines the attention weights."""

    id = "E13"
    experiment = POOLED["E13"]

    def __init__(self, every_n_epochs: int = 0, **schedule: int) -> None:
        super().__init__(every_n_epochs, **schedule)


class Erasure(Explaining):
    """A callback for E14, which erases in four ways the tokens that an explanation ranks first.

    ``resample`` draws tokens from the training texts, where the DataModule has them as token ids.
    """

    id = "E14"
    experiment = POOLED["E14"]

    def __init__(
        self,
        texts: int | None = None,
        sets: int | None = None,
        lead: int | None = None,
        beam_texts: int | None = None,
        erase_by: list[OperatorName] | None = None,
        extras: bool | None = None,
        every_n_epochs: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            texts=texts,
            sets=sets,
            lead=lead,
            beam_texts=beam_texts,
            erase_by=erase_by,
            extras=extras,
            every_n_epochs=every_n_epochs,
            **options,
        )


class SideBySide(Evidence):
    """A callback for E15, which compares explanations with one another on a sample of texts.

    The first process measures the mean seconds per text of each explanation: ``seconds_a_text`` in ``timing.json``.
    """

    id = "E15"
    experiment = POOLED["E15"]
    observes = "observe_steps"

    def __init__(self, texts: int | None = None, sets: int | None = None, every_n_epochs: int = 0, **schedule: int) -> None:
        super().__init__(every_n_epochs, texts=texts, sets=sets, **schedule)


RUNNING = "verdict/validation"
"""The prefix of four metrics about the validation texts: ``share``, the share in which the explanation points at the deciding
words; ``low`` and ``high``, its 95 % interval; and ``n``, the number of texts."""


def running_share(rows: pd.DataFrame) -> dict[str, float]:
    """Return the share of texts in which the explanation points at the words that decide; empty if no text needs words."""
    share = share_of(by_text(rows)["right"]) if "right" in rows else None
    if share is None:
        return {}
    known = {"share": share.value, "low": share.low, "high": share.high, "n": float(share.texts)}
    return {f"{RUNNING}/{part}": value for part, value in known.items()}


class WhatDecides(Explaining):
    """A callback for E19, which searches a sample of texts for the words that decide, and asks whether attention finds them.

    At validation end it reads one batch and logs the share with its interval and its number of texts, ``RUNNING``, so that one
    sees in which epoch attention begins to point at the words that decide. The share over the few texts of a batch is no
    verdict: its interval is wide.
    """

    id = "E19"
    experiment = POOLED["E19"]

    def __init__(
        self, texts: int | None = None, readings: list[str] | None = None, validation_instances: int = 1, **options: Any
    ) -> None:
        super().__init__(texts=texts, readings=readings, validation_instances=validation_instances, **options)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse texts that are lists of sentences before a model is trained on them."""
        super().setup(trainer, pl_module, stage)
        datamodule = datamodule_of(trainer)
        if isinstance(datamodule, TextDataModule) and datamodule.sentences:
            raise AttestError(OF_SENTENCES)

    def _log_means(self, pl_module: LightningModule, stage: str, rows: pd.DataFrame) -> None:
        super()._log_means(pl_module, stage, rows)
        if stage == "validation":
            pl_module.log_dict(running_share(rows), rank_zero_only=True)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.enabled_on_test and self.folder is not None and trainer.is_global_zero and self.engine.neutral is not None:
            made_from = {"made_from": self.folder.made_from()}
            write_json(self.folder.neutral, [each.plain() | made_from for each in self.engine.neutral])
        super().on_test_epoch_end(trainer, pl_module)


class LayerEvidence(Evidence):
    """A callback for experiments on the attention inside the layers of classifiers and taggers.

    Its LightningModule has a method ``observe_layers(batch)`` with the result of ``attest.experiments.layers.observe_layers``.
    """

    observes = "observe_layers"


class LayerExperiment(LayerEvidence, Experiment):
    """A callback that runs an experiment on self-attention, given by its id: ``LayerExperiment("E9", draws=3)``."""

    _known = TAGGERS


class LayerPermutation(LayerEvidence):
    """A callback for E2 on self-attention, which permutes the weights within each row of attention."""

    id = "E2"
    experiment = LAYERS["E2"]

    def __init__(self, permutations: int | None = None, every_n_epochs: int = 0, **schedule: int) -> None:
        super().__init__(every_n_epochs, permutations=permutations, **schedule)


class LayerAdversarialAttention(LayerEvidence):
    """A callback for E3 on self-attention, which looks for very different attention with the same prediction."""

    id = "E3"
    experiment = LAYERS["E3"]

    def __init__(
        self,
        texts: int | None = None,
        epsilon: float | None = None,
        filter_epsilon: float | None = None,
        restarts: int | None = None,
        steps: int | None = None,
        each_layer: bool | None = None,
        every_n_epochs: int = 0,
        **schedule: int,
    ) -> None:
        super().__init__(
            every_n_epochs,
            texts=texts,
            epsilon=epsilon,
            filter_epsilon=filter_epsilon,
            restarts=restarts,
            steps=steps,
            each_layer=each_layer,
            **schedule,
        )


class LayerActivationSwap(LayerEvidence, ActivationSwap):
    """A callback that replaces the softmax of self-attention by another projection of scores to weights (E8)."""

    experiment = LAYERS["E8"]


class KeyShuffle(LayerEvidence):
    """A callback for E9, which permutes the attention keys among the tokens."""

    id = "E9"
    experiment = LAYERS["E9"]

    def __init__(self, draws: int | None = None, **schedule: int) -> None:
        super().__init__(draws=draws, **schedule)


class LayerIdentifiability(LayerEvidence, Identifiability):
    """A callback for E13 on self-attention, which measures whether each head's output determines its attention."""

    experiment = LAYERS["E13"]


class TagDecides(LayerEvidence):
    """A callback for E19 on taggers, which searches for the other words that decide the tag of one word."""

    id = "E19"
    experiment = TAGGERS["E19"]

    def __init__(self, texts: int | None = None, every_n_epochs: int = 0, **schedule: int) -> None:
        super().__init__(every_n_epochs, texts=texts, **schedule)


class TagErasure(LayerEvidence):
    """A callback for E14 on taggers, which erases tokens and measures the effect on one tag of each sentence."""

    id = "E14"
    experiment = TAGGERS["E14"]

    def __init__(self, texts: int | None = None, sets: int | None = None, every_n_epochs: int = 0, **schedule: int) -> None:
        super().__init__(every_n_epochs, texts=texts, sets=sets, **schedule)
