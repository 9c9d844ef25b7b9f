"""The table that every other one joins: the texts, their predictions and their attention."""

from collections.abc import Mapping
from typing import Literal

import pandas as pd
from pytorch_lightning import Trainer

from attest.callbacks.evidence import Batch, Columns, class_names
from attest.callbacks.explaining import Explaining
from attest.experiments import Observation
from attest.experiments.rows import text_columns
from attest.runs.folder import INSTANCES


class Instances(Explaining):
    """Columns ``probability_<class name>`` in [0, 1], ``max_attention``; per token ``tokens``, ``attention``, ``rationale``.

    Classes stand in class order. Tokens (or sentences, where attention is over them) stand as they were before unseen words
    became one symbol, where the data set offers ``units_of(id)``; ``rationale`` is there where the corpus knows it,
    ``question``, a list of words, where one stands beside each text;
    ``attention`` is rollout where that is read instead. Runs on the test split only.

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
