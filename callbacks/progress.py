"""The progress of a run: learning curves, a progress bar or printed lines, and the remaining time."""

import math
import sys
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import RichProgressBar
from torch import Tensor

from attest.callbacks.running import all_gather, share_of_rank
from attest.core.measures.numbers import duration
from attest.datamodules.batching import BatchLoader


class Curves(Callback):
    """A callback that stores loss, validation scores and experiment results of every epoch in checkpoints."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        """The values of each epoch so far: ``epoch``, ``step``, ``train/loss`` (a mean over the batches of all ranks), and
        everything that was logged on validation."""
        self._loss_sum: float | Tensor = 0.0
        self._batches = 0
        self._known: dict[str, Tensor] = {}
        self._logged: dict[str, float] = {}

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._known = {**trainer.callback_metrics}

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep what this validation has logged: Lightning's metrics also hold values of epochs before, as the same tensors."""
        if not trainer.sanity_checking:
            logged = {name: value for name, value in trainer.callback_metrics.items() if "validation" in name}
            self._logged |= {name: float(value) for name, value in logged.items() if value is not self._known.get(name)}

    def state_dict(self) -> dict[str, Any]:
        return {"epochs": self.epochs, "running": all_gather((float(self._loss_sum), self._batches))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.epochs = list(state_dict["epochs"])
        self._loss_sum, self._batches = _total(share_of_rank(state_dict.get("running", [])))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._loss_sum = self._loss_sum + trainer.callback_metrics["train/loss"].detach().to(torch.float64)
        self._batches += 1

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        loss, batches = _total(all_gather((float(self._loss_sum), self._batches)))
        losses = {"train/loss": loss / max(batches, 1)}
        self.epochs.append({"epoch": trainer.current_epoch, "step": trainer.global_step} | losses | self._logged)
        self._loss_sum, self._batches, self._logged = 0.0, 0, {}


def _total(running: list[tuple[float, int]]) -> tuple[float, int]:
    return sum(loss for loss, _ in running), sum(batches for _, batches in running)


def terminal() -> bool:
    """Return whether the output is a terminal that can show a progress bar."""
    return sys.stdout.isatty()


def epochs_counted(trainer: Trainer) -> str:
    """Return a label with the current epoch, counted from 1, and the number of epochs, such as ``Epoch 2/8``."""
    most = trainer.max_epochs
    return f"Epoch {trainer.current_epoch + 1}" + (f"/{most}" if most is not None and most > 0 else "")


HALF_A_SECOND = 0.5
LOSS = "train/loss"
"""The name of the metric that the progress bar shows. It is logged without ``prog_bar=True``, because Lightning would then
read it from the device in every step, also if it is not shown."""


class EvidenceProgress(RichProgressBar):
    """A progress bar of Lightning that counts epochs from 1 and names the running experiment.

    Values beside the bar are read twice a second at most, because a GPU must finish its work before each of them is known.
    """

    _shown: Mapping[str, Any] = MappingProxyType({})
    _read_at = -math.inf

    @property
    def refresh_rate(self) -> float:
        running = self._trainer is not None and self._trainer.testing
        return 1 if running else super().refresh_rate

    def _get_train_description(self, current_epoch: int) -> str:
        return epochs_counted(self.trainer).ljust(len(self.validation_description))

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> Any:
        now = time.monotonic()
        if now - self._read_at >= HALF_A_SECOND or trainer.is_last_batch:
            loss = {name: float(value) for name, value in trainer.callback_metrics.items() if name == LOSS}
            known = loss | super().get_metrics(trainer, pl_module)
            self._shown, self._read_at = {name: value for name, value in known.items() if name != "v_num"}, now
        return self._shown

    def name_experiment(self, identity: str, place: int, of: int) -> None:
        """Show the running experiment in the progress bar, with its number among all experiments."""
        if self.progress is not None and self.test_progress_bar_id is not None:
            self.progress.update(self.test_progress_bar_id, description=f"Evidence {identity} ({place} of {of})")
            self.refresh()


class EpochLines(Callback):
    """A callback that prints the mean training loss and the monitored validation score after every epoch.

    Args:
        curves: the callback that stores the loss and the scores; it must come before this callback.
        monitor: the name of the validation score.
    """

    def __init__(self, curves: Curves, monitor: str) -> None:
        self.curves, self.monitor = curves, monitor

    @rank_zero_only
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        known = self.curves.epochs[-1]
        shown = {name: known[name] for name in ("train/loss", self.monitor) if name in known}
        print(f"{epochs_counted(trainer)}: " + ", ".join(f"{name} {value:.4f}" for name, value in shown.items()), flush=True)

    @rank_zero_only
    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Say that training ends early, if it does."""
        epochs, most = len(self.curves.epochs), trainer.max_epochs or 0
        if trainer.should_stop and epochs < most:
            print(f"Training ends early, after {epochs} of at most {most} epochs.", flush=True)


def show_running(trainer: Trainer, identity: str, all_of_them: Sequence[str]) -> None:
    """Show the running experiment in the trainer's progress bar, if the bar is an ``EvidenceProgress``."""
    bar = trainer.progress_bar_callback
    if isinstance(bar, EvidenceProgress):
        bar.name_experiment(identity, all_of_them.index(identity) + 1, len(all_of_them))


SECONDS, BATCHES = 10, 5
"""The remaining time is estimated for the first time after so many seconds and so many batches. An estimate below the first
number is not printed."""
AGAIN = 30
"""The seconds between two estimates of the remaining time if no progress bar is shown."""


class FirstBatches(Callback):
    """A callback that prints the remaining time of a run: once if a progress bar is shown, else every half minute."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._batches, self._tokens = 0, 0
        self._started, self._next = time.perf_counter(), float(SECONDS)

    on_test_start = on_train_start

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        epochs = (trainer.max_epochs or 0) - trainer.current_epoch
        each = trainer.num_training_batches
        if self._due(trainer) and epochs > 0 and isinstance(each, int):
            place = f"{epochs_counted(trainer)}, batch {batch_idx + 1} of {each}"
            times = (epochs * each - batch_idx - 1) / self._batches
            self._say(f"{place}: training goes on for at most", times, "; evidence follows")

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self._tokens += int(batch["mask"].sum()) if isinstance(batch, dict) and "mask" in batch else 0
        loader = trainer.test_dataloaders
        if self._tokens and isinstance(loader, BatchLoader) and self._due(trainer):
            times = float(loader.dataset.sizes.sum()) / trainer.world_size / self._tokens - 1
            self._say("Evidence goes on for", times, ", which have the shortest texts")

    def _due(self, trainer: Trainer) -> bool:
        """Count a finished batch, and return whether the remaining time should be printed now."""
        self._batches += 1
        self._seconds = time.perf_counter() - self._started
        due = self._batches >= BATCHES and self._seconds >= self._next
        if due:
            self._next = self._seconds + AGAIN if trainer.progress_bar_callback is None else math.inf
        return due

    @rank_zero_only
    def _say(self, what: str, times: float, which: str) -> None:
        remaining = times * self._seconds
        if remaining >= SECONDS:
            print(f"{what} about {duration(remaining)}, judging by the first {self._batches} batches{which}.", flush=True)
