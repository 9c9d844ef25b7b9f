"""What experiments inside layers have in common: the observation, the labels."""

from typing import Any, cast

import torch
from pytorch_lightning import LightningModule
from torch import Tensor

from attest.callbacks.evidence import Batch, Evidence
from attest.experiments.layers import LayerObservation, observe_layers


class LayerEvidence(Evidence):
    """An experiment on self-attention, of classifiers and taggers alike; a tagger has no one label or prediction a text."""

    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation:
        """The attention of all layers."""
        return observed_layers(pl_module, batch)


@torch.no_grad()
def observed_layers(pl_module: LightningModule, batch: Batch) -> LayerObservation:
    """The pass that all experiments on this batch's layers share; it lives as long as the batch."""
    if "layers" not in batch:
        network = cast(Any, pl_module).network
        batch["layers"] = observe_layers(network, batch["id"], batch["token_ids"], batch["mask"])
    return batch["layers"]


def gold(batch: Batch) -> Tensor:
    """Classes int64 ``(B,)``, or the tags of a tagger ``(B, T)``."""
    return batch["tags" if "tags" in batch else "label"]
