"""The base of every experiment: observe, gather over ranks, log, write."""

import math
import time
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import WandbLogger
from torch import Tensor

from attest.callbacks.progress import show_running
from attest.callbacks.ranks import of_all_ranks
from attest.compute.memory import give_back_freed_memory, longest_over_pairs
from attest.datamodules import TextDataModule
from attest.datamodules.notice import say
from attest.measures import summarise
from attest.runs.folder import INSTANCES, RunFolder, write_table

Batch = dict[str, Any]


class Evidence(Callback):
    """One experiment, run at validation end on a fixed part of the split and once on the whole test split.

    A subclass sets ``id`` and defines ``measure``. Its table has one row per instance: ``id`` (row in the
    source), ``label``, ``predicted`` (neither for taggers), ``length`` (real tokens, or sentences where attention is over
    them), and the columns that ``measure`` returns.

    Args:
        every_n_epochs: how often at validation end; 0 for never.
        validation_instances: about how many validation instances; whole batches, evenly spread over the lengths; 0 for never.
    """

    id: ClassVar[str]
    """E1 … E15: file name, metric prefix, section of the report."""

    over_pairs: ClassVar[str | None] = None
    """What of the experiment compares every token with every other and so leaves out very long texts; None for nothing."""

    def __init__(self, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        self.every_n_epochs = every_n_epochs
        self.validation_instances = validation_instances
        self.folder: RunFolder | None = None
        """Where the test table goes; set by whoever starts the run, None for nowhere."""
        self.enabled_on_test = True
        """Set to False where the table is there already."""
        self._parts: list[pd.DataFrame] = []
        self._seconds = 0.0

    def observe(self, pl_module: LightningModule, batch: Batch) -> Any:
        """What is measured: pooled attention, unless a subclass observes something else that knows mask and predicted."""
        return cast(Any, pl_module).observe(batch)

    def measure(self, observation: Any, batch: Batch, trainer: Trainer) -> dict[str, Tensor]:
        """Columns of evidence: ``(B,)`` one number an instance, ``(B, T)`` one a token."""
        raise NotImplementedError(f"{type(self).__name__} must say what it measures: define measure.")

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        """Add to the gathered test rows what is known of instances without measuring."""
        return rows

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Measure a batch of the fixed validation part."""
        if self._due(trainer) and self._in_validation_part(trainer, batch_idx):
            self._collect(trainer, pl_module, batch)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the means over the validation part."""
        if self._due(trainer):
            means = {key: value for key, value in summarise(self._gather(), by=None).items() if key.endswith("/mean")}
            pl_module.log_dict({f"{self.id}/validation/{key}": value for key, value in means.items()}, rank_zero_only=True)

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Measure a batch of the test split."""
        if self.enabled_on_test:
            self._collect(trainer, pl_module, batch)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the table and log its summary."""
        if not self.enabled_on_test:
            return
        seconds = self._seconds
        rows = self.complete(self._gather(), trainer)
        self._name_left_out(rows)
        if trainer.is_global_zero:
            if self.folder is not None:
                write_table(self.folder.evidence(self.id), rows)
                self.folder.note(seconds={f"evidence/{self.id}": seconds})
            _log_table(trainer, self.id, rows)

    def _name_left_out(self, rows: pd.DataFrame) -> None:
        longest = longest_over_pairs()
        count = int((rows["length"] > longest).sum())
        if self.over_pairs and count:
            say(
                f"{self.id}: {self.over_pairs} left out for {count} of {len(rows)} texts, those of over {longest:,} tokens. "
                "--run.max_evidence_tokens=<number> and --run.memory_gib=<number> say how long is too long."
            )

    def _due(self, trainer: Trainer) -> bool:
        if trainer.sanity_checking or not self.every_n_epochs or not self.validation_instances:
            return False
        return trainer.current_epoch % self.every_n_epochs == 0

    def _in_validation_part(self, trainer: Trainer, batch_idx: int) -> bool:
        data = data_of(trainer)
        wanted = min(data.validation_batches, math.ceil(self.validation_instances / data.batch_size))
        chosen = np.linspace(0, data.validation_batches - 1, wanted).round().astype(int)
        return batch_idx * trainer.world_size + trainer.global_rank in chosen

    def _collect(self, trainer: Trainer, pl_module: LightningModule, batch: Batch) -> None:
        if not len(batch["id"]):  # this rank has no texts
            return
        started = time.perf_counter()
        show_running(trainer, self.id)
        observation = self.observe(pl_module, batch)
        with torch.inference_mode(False):
            columns = self.measure(observation, batch, trainer)
        self._parts.append(_rows(_identity(observation, batch) | columns, observation.mask))
        give_back_freed_memory()
        self._seconds += time.perf_counter() - started

    def _gather(self) -> pd.DataFrame:
        """All rows of all ranks, sorted by id, on every rank."""
        parts, self._parts, self._seconds = self._parts, [], 0.0
        gathered = [part for shard in of_all_ranks(parts) for part in shard]
        nobody = pd.DataFrame({"id": [], "length": []}, dtype=int)  # a sample, none of whose texts was run
        return pd.concat(gathered or [nobody]).sort_values("id", ignore_index=True)


def data_of(trainer: Trainer) -> TextDataModule:
    """The DataModule of a running trainer, an attribute that Lightning sets but does not declare."""
    return cast(Any, trainer).datamodule


def _identity(observation: Any, batch: Batch) -> dict[str, Tensor]:
    """Which text, how long; its label and prediction, unless every token has its own."""
    length = observation.mask.sum(dim=-1)
    if "label" not in batch:
        return {"id": batch["id"], "length": length}
    return {"id": batch["id"], "label": batch["label"], "predicted": observation.predicted, "length": length}


def _rows(columns: dict[str, Tensor], mask: Tensor) -> pd.DataFrame:
    """One row per instance; values of tokens become a list as long as the text, of pairs of tokens its square, row by row."""
    lengths = mask.sum(dim=-1).tolist()
    return pd.DataFrame({name: _column(values.detach().cpu().numpy(), lengths) for name, values in columns.items()})


def _column(values: np.ndarray, lengths: list[int]) -> Any:
    if values.ndim == 1:
        return values
    if values.ndim == 2:
        return [row[:length] for row, length in zip(values, lengths, strict=True)]
    return [rows[:length, :length].ravel() for rows, length in zip(values, lengths, strict=True)]


def _log_table(trainer: Trainer, identity: str, rows: pd.DataFrame) -> None:
    for logger in trainer.loggers:
        if isinstance(logger, WandbLogger):
            if identity != INSTANCES:
                logger.log_metrics({f"{identity}/{key}": value for key, value in summarise(rows).items()})
            logger.log_table(f"{identity}/table", dataframe=rows.select_dtypes(["number", "bool"]))
