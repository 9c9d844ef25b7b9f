"""The table of the test sentences of a tagger, with which other runs are compared."""

from typing import Any, cast

import pandas as pd
from pytorch_lightning import Trainer

from attest.callbacks.evidence import Batch, Columns, class_names
from attest.callbacks.experiment import LayerEvidence
from attest.core.attention.interventions import attending
from attest.experiments.layers import LayerObservation
from attest.experiments.rows import tag_columns
from attest.models.layers_observed import self_attending
from attest.runs.folder import TAGGED


class TaggedInstances(LayerEvidence):
    """The table of the sentences of a tagger, with tags, probabilities and attention; it runs on the test split only.

    Columns: ``max_attention``, the mean of the largest weights of all rows; per token ``tokens``, if the data set offers
    ``tokens_of(id)``, ``tags`` (gold), ``predicted_tags`` and ``probability_<tag>``; per pair of tokens ``attention``,
    L x L x N for N heads, those of the first layer first, the second L being the tokens attended to; and ``heads``, the number
    of heads of each layer.
    """

    id = TAGGED

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        self.labels(observation)  # or a sentence
        return tag_columns(observation, class_names(trainer, observation.probabilities.shape[-1]))

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        network = cast(Any, trainer.lightning_module).network
        heads = [attending(network)[layer].heads for layer in self_attending(network)]
        return self.split.with_tokens(rows, "tokens_of").assign(heads=[heads] * len(rows))
