"""The base table that every other one joins: the texts, what was predicted, what was attended to."""

from typing import Any

import pandas as pd
from pytorch_lightning import Trainer
from torch import Tensor

from attest.evidence import Observation
from callbacks.evidence import Evidence


class Instances(Evidence):
    """Columns ``probability_<class>`` in [0, 1], ``max_attention``, and per token ``tokens``, ``attention``, ``rationale``.

    Tokens stand as they were before unseen words became one symbol; ``rationale`` is there where the corpus knows it. Runs
    on the test split only.
    """

    id = "instances"

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def measure(self, observation: Observation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        columns = {f"probability_{k}": column for k, column in enumerate(observation.probabilities.unbind(dim=-1))}
        columns |= {"max_attention": observation.attention.amax(dim=-1), "attention": observation.attention}
        return columns | ({"rationale": batch["rationale"]} if "rationale" in batch else {})

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return rows.assign(tokens=rows["id"].map(trainer.datamodule.test.tokens_of))
