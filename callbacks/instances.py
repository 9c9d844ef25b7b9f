"""The base table that every other one joins: the texts, what was predicted, what was attended to."""

from typing import Any, Literal

import pandas as pd
from pytorch_lightning import Trainer
from torch import Tensor

from attest.callbacks.evidence import data_of
from attest.callbacks.explaining import Explaining
from attest.experiments import Observation
from attest.runs.folder import INSTANCES


class Instances(Explaining):
    """Columns ``probability_<class name>`` in [0, 1], ``max_attention``; per token ``tokens``, ``attention``, ``rationale``.

    Classes stand in class order. Tokens (or sentences, where attention is over them) stand as they were before unseen words
    became one symbol; ``rationale`` is there where the corpus knows it; ``attention`` is rollout where that is read instead.
    Runs on the test split only.

    Args:
        explanation: as in ``Explaining``.
    """

    id = INSTANCES

    def __init__(self, explanation: Literal["attention", "rollout"] = "attention") -> None:
        super().__init__(explanation, every_n_epochs=0)

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        names = data_of(trainer).corpus.label_names
        columns = {f"probability_{name}": observation.probabilities[:, k] for k, name in enumerate(names)}
        columns |= {"max_attention": observation.explanation.amax(dim=-1), "attention": observation.explanation}
        known = "rationale" in batch and batch["rationale"].shape == observation.mask.shape
        return columns | ({"rationale": batch["rationale"]} if known else {})

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return rows.assign(tokens=rows["id"].map(data_of(trainer).test.units_of))
