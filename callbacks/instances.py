"""Tables of the test texts: predictions and attention, attention maps, and results under an attack on attention keys.

Every table of evidence can be joined with the table of ``Instances`` by ``id``; start at ``Instances``.
"""

from dataclasses import replace
from typing import Any, Literal, cast

import pandas as pd
import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.callbacks.evidence import Batch, Columns, class_names, rationale_of, seed_of
from attest.callbacks.experiment import Explaining, LayerEvidence
from attest.core.attention import Projection
from attest.core.attention.interventions import Intervention, attending
from attest.experiments import Observation
from attest.experiments.layers import LayerObservation, attention_maps, with_shuffled_keys
from attest.experiments.rows import tag_columns, text_columns
from attest.experiments.sampling import in_sample
from attest.lightning_modules.key_adversary import Attacked
from attest.models.layers_observed import self_attending
from attest.runs.folder import INSTANCES, MAPS, TAGGED


class Instances(Explaining):
    """A callback that writes a table of the test texts with the probability of each class and the attention of each token.

    Columns: ``probability_<class name>`` in [0, 1], in class order; ``max_attention``; per token ``attention``, or attention
    rollout. If the data set has the method ``units_of(id)``: ``tokens``, the tokens (or sentences), in which unknown words are
    not yet replaced. If the corpus has them: ``rationale``; ``question``, a list of words; ``special``, True at subwords that
    belong to no word.

    Args:
        explanation: as in ``Explaining``.
    """

    id = INSTANCES

    def __init__(self, explanation: Literal["attention", "rollout"] = "attention") -> None:
        super().__init__(explanation, every_n_epochs=0)

    def measure(self, observation: Observation, batch: Batch, trainer: Trainer) -> Columns:
        columns = text_columns(observation, class_names(trainer, observation.probabilities.shape[-1]))
        rationale = rationale_of(observation, batch)
        return columns if rationale is None else columns | {"rationale": rationale}

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return self.split.with_words(self.split.with_words(rows, "tokens", "units_of"), "question", "question_of")


class TextTable(LayerEvidence):
    """A base class of callbacks that write a table of the test texts, for models with self-attention."""

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)


class TaggedInstances(TextTable):
    """A callback that writes a table of a tagger's test sentences with tags, probabilities and attention.

    Columns: ``max_attention``, the mean over all attention rows of the largest weight; per token ``tokens`` (if the data set
    has the method ``tokens_of(id)``), ``tags`` (gold), ``predicted_tags`` and ``probability_<tag>``; per pair of tokens
    ``attention``, L x L x N: attending tokens, attended tokens and N heads, the heads of the first layer first; ``heads``, the
    number of heads of each layer.
    """

    id = TAGGED

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        self.labels(observation)  # or a sentence
        return tag_columns(observation, class_names(trainer, observation.probabilities.shape[-1]))

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        network = cast(Any, trainer.lightning_module).network
        heads = [attending(network)[layer].heads for layer in self_attending(network)]
        return self.split.with_words(rows, "tokens", "tokens_of").assign(heads=[heads] * len(rows))


class AttentionMaps(TextTable):
    """A callback that writes the attention maps of a few random test texts.

    ``tokens`` is a column if the data set has the method ``units_of(id)``. Each text is shown under these conditions:
    ``original``; each projection, applied in all layers, under its name; and ``shuffled``, the first shuffle of E9.

    Args:
        projections: the projections under which attention is shown, by name.
    """

    id = MAPS

    def __init__(self, texts: int = 3, projections: dict[str, Projection] | None = None) -> None:
        super().__init__()
        self.texts, self.projections = texts, projections or {}

    @torch.no_grad()
    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation | None:
        """Return what the model computes on the chosen texts of a batch; None if the batch has none of them."""
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
        return self.split.with_words(rows, "tokens", "units_of")


class KeyAttackMaps(AttentionMaps):
    """A callback that writes attention maps of a few test texts, with and without attack by a ``KeyAdversary``."""

    methods = ("observe_layers", "attacked")

    def __init__(self, texts: int = 3) -> None:
        super().__init__(texts)

    @torch.no_grad()
    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> Columns:
        chosen = torch.isin(batch["id"], observation.ids)
        few = {name: column[chosen] for name, column in batch.items() if isinstance(column, Tensor)}
        return attention_maps(
            {"original": observation, "attacked": cast(Any, trainer.lightning_module).attacked(few).observation}
        )


class KeyAttack(TextTable):
    """A callback for E9, which measures the effect of a trained ``KeyAdversary`` on each test text.

    Columns ``(B,)``: ``correct``, whether the clean decision is right; ``correct_attacked``, whether the decision under attack
    is the label by which the attack is scored; ``flipped``, whether the two decisions differ; ``tvd_attacked``, TVD between
    the two predictions; ``jsd_attacked``, JSD in nats between the two attentions, mean over the rows of all layers, and
    ``jsd_attacked_layer<l>``, that of one layer; ``distance``, the mean squared distance of the keys.
    """

    id = "E9"
    methods = ("observe_layers", "attacked")

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        attacked: Attacked = self._running.observe(trainer.lightning_module, "attacked")
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


class AttackedInstances(TextTable):
    """A callback that writes the predictions for each test text while a ``KeyAdversary`` attacks the model.

    ``label`` is the label by which the attack is scored: the true class, or the other class in the attack ``opposite``.
    ``predicted`` and ``probability_<class name>`` in [0, 1] are those of the model under attack.
    """

    id = INSTANCES
    observes = "attacked"

    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation:
        attacked: Attacked = super().observe(pl_module, batch)
        return replace(attacked.observation, labels=attacked.labels)

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        names = class_names(trainer, observation.probabilities.shape[-1])
        return {f"probability_{name}": observation.probabilities[:, k] for k, name in enumerate(names)}
