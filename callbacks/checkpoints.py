"""Checkpoints from which a stopped run continues as if it had never stopped."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.io.torch_io import TorchCheckpointIO
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint

from attest.callbacks.running import all_gather, share_of_rank
from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.datamodules.notice import say
from attest.runs.belonging import TRAINED_WITH, require_trained_with, trained_with, unreadable
from attest.runs.folder import RunFolder, write_atomically


class BestCheckpoint(ModelCheckpoint):
    """A callback that writes ``checkpoints/best.ckpt`` after the epoch with the best validation score.

    The file contains the parameters alone: training goes on from ``last.ckpt``, which also has what the optimiser knows.
    """

    def __init__(self, folder: RunFolder, monitor: str, mode: str) -> None:
        how: dict[str, Any] = {"save_top_k": 1, "save_weights_only": True, "enable_version_counter": False}
        super().__init__(folder.best.parent, folder.best.stem, monitor=monitor, mode=mode, **how)
        self.path = str(folder.best)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if state_dict["best_model_path"]:
            here = dict.fromkeys(("best_model_path", "kth_best_model_path"), self.path)
            state_dict = state_dict | here | {"best_k_models": {self.path: state_dict["best_model_score"]}}
        super().load_state_dict(state_dict | {"dirpath": self.dirpath})

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.monitor not in trainer.callback_metrics:
            known = sorted(name for name in trainer.callback_metrics if name.startswith("validation/"))
            raise AttestError(
                f"run.monitor is {self.monitor}, which is not logged; expected one of {', '.join(known)}. "
                f"For example: --run.monitor={known[0]} --run.mode=min"
            )
        if trainer.callback_metrics[self.monitor].isnan() and not trainer.sanity_checking:
            if not self.best_model_path:
                raise AttestError(
                    f"run.monitor is {self.monitor}, which is undefined on the validation split, so no best epoch can be "
                    "chosen; expected a score that is defined: ROC-AUC needs texts of two classes, F1 needs texts of the "
                    "positive class. Give other validation texts, or type --run.monitor=validation/loss --run.mode=min"
                )
            say(f"{self.monitor} is undefined in epoch {trainer.current_epoch}, which is not chosen.")
        elif not _epoch_will_be_validated_again(trainer):
            super().on_validation_end(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.monitor in (known := trainer.callback_metrics) and not known[self.monitor].isnan():
            super().on_train_epoch_end(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_end(trainer, pl_module)
        if not self.best_model_path:
            say("No epoch was validated before training ended, so none is the best; the last state of the model is on trial.")
            trainer.save_checkpoint(self.path, weights_only=True)


def _epoch_will_be_validated_again(trainer: Trainer) -> bool:
    done = trainer.fit_loop.epoch_loop.batch_idx + 1
    return done + (trainer.val_check_batch or math.inf) <= trainer.num_training_batches < math.inf


class LastCheckpoint(Callback):
    """A callback that writes ``checkpoints/last.ckpt`` every few batches, so that a run can be resumed.

    The file contains parameters, optimiser, loop counters, position in the data and random state. During training, it is never
    written after the last batch of an epoch. So a resumed run always trains the rest of an epoch before it validates; only
    then does the training loop repeat everything. On SIGTERM, a run with a single process writes the file.

    Args:
        every_n_batches: the number of batches between two checkpoints; a killed run loses at most this number of batches.
    """

    def __init__(self, folder: RunFolder, every_n_batches: int) -> None:
        self.folder = folder
        self.every_n_batches = every_n_batches

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        due = batch_idx % self.every_n_batches == 0 or trainer.received_sigterm
        if due and not trainer.is_last_batch:
            trainer.save_checkpoint(self.folder.last)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        trainer.save_checkpoint(self.folder.last)


class RandomState(Callback):
    """A callback that stores the state of torch's random generators of all ranks in every checkpoint.

    The state is restored when the first batch begins, because torch's loader draws a number when it starts an epoch.
    """

    def __init__(self) -> None:
        self._resumed: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # a run on the CPU leaves the GPUs alone
        return {"ranks": all_gather({"cpu": torch.get_rng_state(), "cuda": cuda})}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if ranks := state_dict.get("ranks"):
            self._resumed, *_ = share_of_rank(ranks) or ranks

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if self._resumed is not None:
            torch.set_rng_state(self._resumed["cpu"].cpu())
            on_gpus = self._resumed["cuda"][: torch.cuda.device_count()] if torch.cuda.is_initialized() else []
            for device, state in enumerate(on_gpus):
                torch.cuda.set_rng_state(state.cpu(), device)
            self._resumed = None


class AtomicCheckpointIO(TorchCheckpointIO):
    """A plugin that never leaves a half-written checkpoint, and refuses files that are damaged or from another run.

    Args:
        settings: the configuration; every checkpoint keeps a part of it, which is compared when the checkpoint is read.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.settings = settings

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | os.PathLike, storage_options: Any = None) -> None:
        checkpoint = checkpoint | {TRAINED_WITH: trained_with(self.settings)}

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:  # given a path, torch says nothing of why it cannot write
                torch.save(checkpoint, file)

        write_atomically(Path(path), write)

    def load_checkpoint(self, path: str | Path, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            checkpoint = super().load_checkpoint(path, *args, **kwargs)
        except FileNotFoundError as error:
            raise AttestError(f"{path} does not exist; expected a checkpoint. Train one first: {spelled('fit')}") from error
        except Exception as error:  # torch reports a broken file as any of half a dozen types
            raise unreadable(Path(path)) from error
        if not isinstance(checkpoint, dict) or "state_dict" not in checkpoint:
            raise AttestError(
                f"{path} does not contain a trained network; expected a checkpoint that Attest wrote. Give another file."
            )
        require_trained_with(checkpoint, self.settings, Path(path))
        return checkpoint
