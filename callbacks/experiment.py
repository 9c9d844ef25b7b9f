"""Any experiment, without a class of its own.

E14 on the test split.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Literal

import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.callbacks.evidence import Batch, Columns, Evidence, datamodule_of, seed_of
from attest.callbacks.split import Split
from attest.core.attention import Projection
from attest.core.errors import AttestError
from attest.experiments import (
    Observation,
    activation_swap,
    adversarial_attention,
    attention_permutation,
    erasure_until_flip,
    feature_importance,
    identifiability,
    importance_entropy,
    single_erasure,
)
from attest.experiments.erasure import Background, erasure, tag_erasure
from attest.experiments.layers import (
    LayerObservation,
    attention_rollout,
    key_shuffle,
    layer_activation_swap,
    layer_adversarial_attention,
    layer_identifiability,
    layer_permutation,
    where_rollout_begins,
)
from attest.experiments.readings import side_by_side
from attest.experiments.registry import runnable


class Experiment(Evidence):
    """Runs an experiment on the observation of every batch: ``Experiment("E12", draws=10)``.

    Args:
        id: file name, metric prefix.
        experiment: takes an observation, ``options``, and, if it has parameters of these names, ``seed`` and ``labels``;
            returns columns, ``(B,)`` one number an instance or ``(B, T)`` one a token. None for the one that the registry
            has under this id.
        every_n_epochs, validation_instances: as in ``Evidence``.
        options: of the experiment, by the names of its parameters.
    Raises:
        AttestError: the experiment has no such option, or the registry has none of this id.
    """

    def __init__(
        self,
        id: str,
        experiment: Callable[..., dict[str, Tensor]] | None = None,
        every_n_epochs: int = 1,
        validation_instances: int = 256,
        **options: Any,
    ) -> None:
        super().__init__(every_n_epochs, validation_instances, **options)
        self.id, self.experiment = id, _registered(id) if experiment is None else experiment
        known = list(signature(self.experiment).parameters)[1:]
        for option in options:
            if option not in known:
                raise AttestError(
                    f"{id} was given {option}, and {self.experiment.__name__} has no such parameter; expected one of "
                    f"{', '.join(known) or 'none'}. Leave it out."
                )


def _registered(id: str) -> Callable[..., dict[str, Tensor]]:
    spec = runnable().get(id)
    if spec is None or spec.run is None:
        raise AttestError(f"no experiment is called {id}; expected one of {', '.join(runnable())}, or a function of your own.")
    return spec.run


class ActivationSwap(Evidence):
    """E8: the trained model under other projections; columns as in ``attest.experiments.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"
    experiment = staticmethod(activation_swap)

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, projections=projections)


class AdversarialAttention(Evidence):
    """E3: the most different attention with the same prediction; columns as in ``attest.experiments.adversarial_attention``.

    The search waits for the test split; at validation end the exact answer, which is nearly free, speaks alone.

    Args:
        epsilon, filter_epsilon: as in ``attest.experiments.adversarial_attention``.
        restarts, steps: of the published search; 0 restarts leave it out.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E3"
    experiment = staticmethod(adversarial_attention)
    quadratic = "the exact adversary"

    def __init__(
        self,
        epsilon: float = 0.01,
        filter_epsilon: float = 0.05,
        restarts: int = 5,
        steps: int = 500,
        every_n_epochs: int = 1,
        validation_instances: int = 256,
    ) -> None:
        of_search = {"restarts": restarts, "steps": steps}
        super().__init__(every_n_epochs, validation_instances, epsilon=epsilon, filter_epsilon=filter_epsilon, **of_search)

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        return super().arguments(observation, trainer) | ({} if trainer.testing else {"restarts": 0})


class Explaining(Evidence):
    """An experiment that asks of ``observation.explanation`` alone which tokens matter.

    Args:
        explanation: ``attention``, the weights that pool, which must be learned; or ``rollout``, from them down to the tokens
            through the attention of all layers, where a Transformer has its attention inside: the LightningModule then offers
            ``observe_steps(batch)``, which observes what pools even if that is a mean, and ``observe_layers(batch)``.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    def __init__(
        self,
        explanation: Literal["attention", "rollout"] = "attention",
        every_n_epochs: int = 1,
        validation_instances: int = 256,
    ) -> None:
        super().__init__(every_n_epochs, validation_instances)
        self.explanation = explanation

    @property
    def methods(self) -> tuple[str, ...]:
        return ("observe",) if self.explanation == "attention" else ("observe_steps", "observe_layers")

    def observe(self, pl_module: LightningModule, batch: Batch) -> Observation:
        """The pooled observation, with rollout in place of its attention if that is on trial."""
        return self.by_rollout(*(self._running.observed(pl_module, method) for method in self.methods))

    @staticmethod
    def by_rollout(first: Observation, layers: LayerObservation | None = None) -> Observation:
        """The observation with rollout in place of its attention; as it is where there are no layers to go through."""
        if layers is None:
            return first
        return first.explained_by(attention_rollout(layers.attention, where_rollout_begins(first)))


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


class ErasureUntilFlip(Evidence):
    """E12: weights erased until the decision flips; columns as in ``attest.experiments.erasure_until_flip``.

    Args:
        draws: random orders, averaged.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E12"
    experiment = staticmethod(erasure_until_flip)

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, draws=draws)


class FeatureImportance(Explaining):
    """E1: rank correlation of attention with importance; columns as in ``attest.experiments.feature_importance``.

    Leave-one-out, which reads a text once a token, waits for the test split; at validation end gradients speak alone.
    """

    id = "E1"
    experiment = staticmethod(feature_importance)
    quadratic = "leave-one-out"

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        return {"leave_one_out": bool(trainer.testing)}


class Identifiability(Evidence):
    """E13: whether the outcome determines the attention; columns as in ``attest.experiments.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"
    experiment = staticmethod(identifiability)

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)


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


class LayerEvidence(Evidence):
    """An experiment on self-attention, of classifiers and taggers alike; a tagger has no one label or prediction a text.

    The LightningModule offers ``observe_layers(batch)``, which returns what ``attest.experiments.layers.observe_layers`` does.
    """

    observes = "observe_layers"


class LayerActivationSwap(LayerEvidence):
    """E8: other projections in each layer; columns as in ``attest.experiments.layers.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"
    experiment = staticmethod(layer_activation_swap)

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, projections=projections)


class LayerAdversarialAttention(LayerEvidence):
    """E3: other attention, same prediction; columns as in ``attest.experiments.layers.adversarial_search``.

    Each step of the search is a forward and a backward pass, so it is asked of a part of the test split: whole batches, one
    from each of equal stretches of the lengths. The table has the rows of these texts alone.

    Args:
        texts: about how many test texts.
        epsilon, filter_epsilon, restarts, steps: as in ``attest.experiments.layers.adversarial_search``.
    """

    id = "E3"
    experiment = staticmethod(layer_adversarial_attention)

    def __init__(
        self, texts: int = 64, epsilon: float = 0.01, filter_epsilon: float = 0.05, restarts: int = 2, steps: int = 200
    ) -> None:
        super().__init__(every_n_epochs=0, epsilon=epsilon, filter_epsilon=filter_epsilon, restarts=restarts, steps=steps)
        self.texts = texts

    def chosen(self, split: Split, batch_idx: int) -> bool:
        """One of each of equal stretches of the split."""
        return split.place_of(batch_idx) in split.part(self.texts)


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


class LayerIdentifiability(LayerEvidence):
    """E13: whether heads determine their attention; columns as in ``attest.experiments.layers.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"
    experiment = staticmethod(layer_identifiability)

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)


class KeyShuffle(LayerEvidence):
    """E9: keys permuted over tokens; columns as in ``attest.experiments.layers.key_shuffle``.

    Args:
        draws: shuffles per instance.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E9"
    experiment = staticmethod(key_shuffle)

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, draws=draws)


class LayerPermutation(LayerEvidence):
    """E2: rows of attention permuted; columns as in ``attest.experiments.layers.permutation``.

    Args:
        permutations: per instance; each costs a forward pass for every layer and one for all.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"
    experiment = staticmethod(layer_permutation)

    def __init__(self, permutations: int = 10, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, permutations=permutations)


class AttentionPermutation(Evidence):
    """E2: random permutations of attention; columns as in ``attest.experiments.attention_permutation``.

    Args:
        permutations: per instance, 100 in the paper.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"
    experiment = staticmethod(attention_permutation)

    def __init__(self, permutations: int = 100, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, permutations=permutations)


class SideBySide(Evidence):
    """E15: every reading of the model on a sample of texts; columns as in ``attest.experiments.readings.side_by_side``.

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


class SingleErasure(Evidence):
    """E11: the most attended token erased, or another; columns as in ``attest.experiments.single_erasure``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E11"
    experiment = staticmethod(single_erasure)

    def __init__(self, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
