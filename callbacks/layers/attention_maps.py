"""Attention maps of a few test texts, for the figures."""

from typing import Any, cast

import pandas as pd
import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.attention import Projection
from attest.attention.interventions import Intervention
from attest.callbacks.evidence import Batch, data_of
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments import sample_of_ids
from attest.experiments.layers import LayerObservation, attention_maps, with_shuffled_keys
from attest.runs.folder import MAPS


class AttentionMaps(LayerEvidence):
    """The table has rows of a few random test texts alone; columns as in ``attest.experiments.layers.maps``, and ``tokens``.

    Conditions are ``original``, every projection by its name, in all layers, and ``shuffled``, the first shuffle of E9.

    Args:
        texts: how many.
        projections: to look at, by name.
    """

    id = MAPS

    def __init__(self, texts: int = 3, projections: dict[str, Projection] | None = None) -> None:
        super().__init__(every_n_epochs=0)
        self.texts, self.projections = texts, projections or {}

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Look at the chosen texts of a batch."""
        everyone = torch.tensor(data_of(trainer).test.documents.ids, device=batch["id"].device)
        chosen = torch.isin(batch["id"], sample_of_ids(data_of(trainer).seed, everyone, self.texts))
        if chosen.any():
            few = {name: column[chosen] for name, column in batch.items() if isinstance(column, Tensor)}
            super().on_test_batch_end(trainer, pl_module, outputs, few, batch_idx, dataloader_idx)

    @torch.no_grad()
    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> dict[str, Tensor]:
        layers = observation.scopes[""]
        conditions = {"original": observation}
        for name, projection in self.projections.items():
            conditions[name] = observation.under(Intervention("projection", projection, layers))
        conditions["shuffled"] = with_shuffled_keys(observation, data_of(trainer).seed)
        return attention_maps(conditions)

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        return rows.assign(tokens=rows["id"].map(data_of(trainer).test.units_of))


class KeyAttackMaps(AttentionMaps):
    """The same with the conditions ``original`` and ``attacked``, by a trained ``KeyAdversary``.

    Args:
        texts: how many.
    """

    def __init__(self, texts: int = 3) -> None:
        super().__init__(texts)

    @torch.no_grad()
    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation:
        """The layers untouched; how they look under attack stays with the batch."""
        batch["attacked"] = cast(Any, pl_module).attacked(batch)
        return super().observe(pl_module, batch)

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> dict[str, Tensor]:
        return attention_maps({"original": observation, "attacked": batch["attacked"].observation})
