"""The table that every other one joins: the texts, their predictions and their attention.

Attention maps of a few test texts, for the figures.

E9, trained attacks on keys, on the test split.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import pandas as pd
import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.callbacks.evidence import Batch, Columns, class_names, seed_of
from attest.callbacks.experiment import Explaining, LayerEvidence
from attest.core.attention import Projection
from attest.core.attention.interventions import Intervention
from attest.experiments import Observation
from attest.experiments.layers import LayerObservation, attention_maps, with_shuffled_keys
from attest.experiments.rows import text_columns
from attest.experiments.sampling import in_sample
from attest.lightning_modules.key_adversary import Attacked
from attest.runs.folder import INSTANCES, MAPS


class Instances(Explaining):
    """Columns ``probability_<class name>`` in [0, 1], ``max_attention``; per token ``tokens``, ``attention``, and the like.

    Classes stand in class order. Tokens (or sentences, where attention is over them) stand as they were before unseen words
    became one symbol, where the data set offers ``units_of(id)``; ``rationale`` is there where the corpus knows it,
    ``question``, a list of words, where one stands beside each text, ``special``, True at the tokens that are of no word, of
    texts in subwords; ``attention`` is rollout where that is read instead. Runs on the test split only.

    Args:
        explanation: as in ``Explaining``.
    """

    id = INSTANCES

    def __init__(self, explanation: Literal["attention", "rollout"] = "attention") -> None:
        super().__init__(explanation, every_n_epochs=0)

    def measure(self, observation: Observation, batch: Batch, trainer: Trainer) -> Columns:
        columns = text_columns(observation, class_names(trainer, observation.probabilities.shape[-1]))
        rationale = batch.get("rationale") if isinstance(batch, Mapping) else None
        if rationale is not None and rationale.shape == observation.mask.shape:
            columns["rationale"] = rationale
        return columns

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return self.split.with_question(self.split.with_tokens(rows, "units_of"))


class AttentionMaps(LayerEvidence):
    """The table has rows of a few random test texts alone; columns as in ``attest.experiments.layers.rollout``, and
    ``tokens``, where the data set offers ``units_of(id)``.

    Conditions are ``original``, every projection by its name, in all layers, and ``shuffled``, the first shuffle of E9.

    Args:
        texts: how many.
        projections: to look at, by name.
    """

    id = MAPS

    def __init__(self, texts: int = 3, projections: dict[str, Projection] | None = None) -> None:
        super().__init__(every_n_epochs=0)
        self.texts, self.projections = texts, projections or {}

    @torch.no_grad()
    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation | None:
        """The chosen texts of a batch, alone."""
        everyone = super().observe(pl_module, batch)
        chosen = in_sample(seed_of(pl_module.trainer), everyone.ids, self.split.everyone(everyone), self.texts)
        return everyone.rows(chosen.nonzero().flatten()).under() if chosen.any() else None

    @torch.no_grad()
    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        layers = observation.scopes[""]
        conditions = {"original": observation}
        for name, projection in self.projections.items():
            conditions[name] = observation.under(Intervention("projection", projection, layers))
        conditions["shuffled"] = with_shuffled_keys(observation, seed_of(trainer))
        return attention_maps(conditions)

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return self.split.with_tokens(rows, "units_of")


class KeyAttackMaps(AttentionMaps):
    """The same with the conditions ``original`` and ``attacked``, by a trained ``KeyAdversary``.

    Args:
        texts: how many.
    """

    def __init__(self, texts: int = 3) -> None:
        super().__init__(texts)

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.observes, "attacked")

    @torch.no_grad()
    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> Columns:
        chosen = torch.isin(batch["id"], observation.ids)
        few = {name: column[chosen] for name, column in batch.items() if isinstance(column, Tensor)}
        return attention_maps(
            {"original": observation, "attacked": cast(Any, trainer.lightning_module).attacked(few).observation}
        )


class KeyAttack(LayerEvidence):
    """E9: what a trained ``KeyAdversary`` does to every test text.

    Columns ``(B,)``: ``correct``, without attack; ``correct_attacked``, the decision under attack on the label it is scored
    on; ``flipped``, where the decision is another one; ``tvd_attacked`` of predictions; ``jsd_attacked`` of attention in nats,
    mean over rows of all layers, and ``_layer<l>`` of one; ``distance``, mean squared, of the keys.
    """

    id = "E9"

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.observes, "attacked")

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        attacked: Attacked = self._running.observed(trainer.lightning_module, "attacked")
        columns = {
            "correct": observation.correct(self.labels(observation)),
            "correct_attacked": attacked.observation.correct(attacked.labels),
            "flipped": attacked.observation.predicted != observation.predicted,
            "tvd_attacked": attacked.observation.moved_from(observation),
            "distance": attacked.distance,
        }
        for suffix, layers in observation.scopes.items():
            columns[f"jsd_attacked{suffix}"] = attacked.observation.diverged_from(observation, layers)
        return columns


class AttackedInstances(LayerEvidence):
    """The texts as they are decided under attack, so that two attacks can be compared text by text.

    ``label`` is the label that the attack is scored on, the other class for ``opposite``; ``predicted`` and
    ``probability_<class name>`` in [0, 1] are those under attack. There is no pooled attention here to show.
    """

    id = INSTANCES
    observes = "attacked"

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation:
        attacked: Attacked = super().observe(pl_module, batch)
        return replace(attacked.observation, labels=attacked.labels)

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        names = class_names(trainer, observation.probabilities.shape[-1])
        return {f"probability_{name}": observation.probabilities[:, k] for k, name in enumerate(names)}
