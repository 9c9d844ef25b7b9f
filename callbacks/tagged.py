"""What a tagger predicts and attends to, token by token: what other runs are compared with."""

from typing import Any

import pandas as pd
import torch
from pytorch_lightning import Trainer
from torch import Tensor

from attest.evidence.layers import LayerObservation
from attest.run_comparison import TAGGED
from callbacks.evidence import data_of
from callbacks.layers.base import LayerEvidence


class TaggedInstances(LayerEvidence):
    """Columns ``max_attention``, the mean of the rows' largest weights; and lists, row after row:

    ``tokens``, ``tags`` (gold) and ``predicted_tags`` of the L tokens; ``probabilities``, L x K; ``attention``, L x N x L for
    N heads of all layers, the last L being what is attended to. Runs on the test split only.
    """

    id = TAGGED

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def measure(self, observation: LayerObservation, batch: dict[str, Any], trainer: Trainer) -> dict[str, Tensor]:
        heads = torch.cat(list(observation.attention.values()), dim=1)
        return {
            "max_attention": observation.largest(list(observation.attention)),
            "tags": batch["tags"],
            "predicted_tags": observation.predicted,
            "probabilities": observation.probabilities,
            "attention": heads.transpose(1, 2),
        }

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return rows.assign(
            probabilities=[each.ravel() for each in rows["probabilities"]],
            attention=[each[:, :, : len(each)].ravel() for each in rows["attention"]],
            tokens=rows["id"].map(data_of(trainer).test.tokens_of),
        )
