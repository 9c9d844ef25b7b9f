"""An estimate of how long training and evidence will take, from the first batches."""

from typing import Any

from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Callback, LightningModule, Trainer

from attest.core.forecast import Forecast


class FirstBatches(Callback):
    """A callback that prints once in training, and once on the test split, how long this part of the run will still take."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._forecast = Forecast()

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._forecast, self._tokens = Forecast(), 0

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        epochs = (trainer.max_epochs or 0) - trainer.current_epoch
        each = trainer.num_training_batches
        if self._forecast.due() and epochs > 0 and isinstance(each, int):
            self._say("Training goes on for at most", (epochs * each - batch_idx - 1) / self._forecast.batches)

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self._tokens += int(batch["mask"].sum()) if isinstance(batch, dict) and "mask" in batch else 0
        sizes = getattr(getattr(trainer.test_dataloaders, "dataset", None), "sizes", None)
        part = getattr(getattr(trainer, "datamodule", None), "part", None)
        if self._tokens and sizes is not None and part is None and self._forecast.due():
            remaining = float(sizes.sum()) / trainer.world_size / self._tokens - 1
            self._say("Evidence goes on for at least", remaining, ", which have the shortest texts")

    @rank_zero_only
    def _say(self, what: str, times: float, which: str = "") -> None:
        if (told := self._forecast.remaining(times * self._forecast.seconds)) is not None:
            print(f"{what} {told}{which}.", flush=True)
