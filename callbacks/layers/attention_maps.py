"""Attention maps of a few test texts, for the figures."""

from typing import Any, cast

import pandas as pd
import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor

from attest.attention import Projection
from attest.attention.interventions import Intervention
from attest.callbacks.evidence import Batch, Columns, seed_of
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import LayerObservation, attention_maps, with_shuffled_keys
from attest.runs.folder import MAPS


class AttentionMaps(LayerEvidence):
    """The table has rows of a few random test texts alone; columns as in ``attest.experiments.layers.maps``, and ``tokens``,
    where the data set offers ``units_of(id)``.

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
        chosen = self.split.sampled(seed_of(pl_module.trainer), everyone, self.texts)
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
