"""An estimate of how long training and evidence will take, from the first batches."""

import time
from typing import Any

from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Callback, LightningModule, Trainer

from attest.core.measures.numbers import duration

SECONDS, BATCHES = 10, 5
"""The seconds and batches after which an estimate is printed, unless less than so many seconds are left."""


class FirstBatches(Callback):
    """A callback that prints once in training, and once on the test split, how long it will go on."""

    def __init__(self) -> None:
        self._started, self._batches, self._tokens, self._said = 0.0, 0, 0, False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._begin()

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._begin()

    def _begin(self) -> None:
        self._started, self._batches, self._tokens, self._said = time.perf_counter(), 0, 0, False

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        epochs = (trainer.max_epochs or 0) - trainer.current_epoch
        each = trainer.num_training_batches
        if self._is_due_after_this_batch() and epochs > 0 and isinstance(each, int):
            self._say("Training goes on for at most", (epochs * each - batch_idx - 1) / self._batches, "")

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self._tokens += int(batch["mask"].sum()) if isinstance(batch, dict) and "mask" in batch else 0
        sizes = getattr(getattr(trainer.test_dataloaders, "dataset", None), "sizes", None)
        part = getattr(getattr(trainer, "datamodule", None), "part", None)
        if self._tokens and sizes is not None and part is None and self._is_due_after_this_batch():
            remaining = float(sizes.sum()) / trainer.world_size / self._tokens - 1
            self._say("Evidence goes on for at least", remaining, ", which have the shortest texts")

    def _is_due_after_this_batch(self) -> bool:
        self._batches += 1
        return not self._said and self._batches >= BATCHES and time.perf_counter() - self._started >= SECONDS

    @rank_zero_only
    def _say(self, what: str, times: float, which: str) -> None:
        """Print an estimate.

        Args:
            what: the beginning of the sentence.
            times: the remaining time as a multiple of the time until now.
            which: what is special about the first batches.
        """
        self._said = True
        seconds = times * (time.perf_counter() - self._started)
        if seconds >= SECONDS:
            print(f"{what} about {duration(seconds)}, judging by the first {self._batches} batches{which}.", flush=True)
