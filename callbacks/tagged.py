"""What a tagger predicts and attends to, token by token: what other runs are compared with."""

from typing import Any

import pandas as pd
import torch
from pytorch_lightning import Trainer
from torch import Tensor

from attest.evidence.layers import LayerObservation
from attest.run_folder import TAGGED
from callbacks.evidence import data_of
from callbacks.layers.base import LayerEvidence


class TaggedInstances(LayerEvidence):
    """Columns ``max_attention``, the mean of the rows' largest weights; per token ``tokens``, ``tags`` (gold),
    ``predicted_tags`` and ``probability_<tag>``; per pair of tokens ``attention``, L x L x N for N heads of all layers, the
    second L being what is attended to. Runs on the test split only.
    """

    id = TAGGED

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        heads = torch.cat(list(observation.attention.values()), dim=1)
        names = data_of(trainer).corpus.label_names
        return {
            "max_attention": observation.largest(list(observation.attention)),
            "tags": batch["tags"],
            "predicted_tags": observation.predicted,
            **{f"probability_{name}": observation.probabilities[..., k] for k, name in enumerate(names)},
            "attention": heads.permute(0, 2, 3, 1),
        }

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return rows.assign(tokens=rows["id"].map(data_of(trainer).test.tokens_of))
