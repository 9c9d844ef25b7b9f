"""An estimate of how long training and evidence will take, from the batches so far."""

from typing import Any

from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Callback, LightningModule, Trainer

from attest.callbacks.progress import epochs_counted
from attest.core.forecast import Forecast


class FirstBatches(Callback):
    """A callback that prints how long training or evidence will still take: once beside a bar, else every half minute."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._forecast = Forecast(renewed=trainer.progress_bar_callback is None)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._forecast, self._tokens = Forecast(renewed=trainer.progress_bar_callback is None), 0

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        epochs = (trainer.max_epochs or 0) - trainer.current_epoch
        each = trainer.num_training_batches
        if self._forecast.due() and epochs > 0 and isinstance(each, int):
            place = f"{epochs_counted(trainer)}, batch {batch_idx + 1} of {each}"
            times = (epochs * each - batch_idx - 1) / self._forecast.batches
            self._say(f"{place}: training goes on for at most", times, "; evidence follows")

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self._tokens += int(batch["mask"].sum()) if isinstance(batch, dict) and "mask" in batch else 0
        sizes = getattr(getattr(trainer.test_dataloaders, "dataset", None), "sizes", None)
        if self._tokens and sizes is not None and self._forecast.due():
            remaining = float(sizes.sum()) / trainer.world_size / self._tokens - 1
            self._say("Evidence goes on for at least", remaining, ", which have the shortest texts")

    @rank_zero_only
    def _say(self, what: str, times: float, which: str = "") -> None:
        if (told := self._forecast.remaining(times * self._forecast.seconds)) is not None:
            print(f"{what} {told}{which}.", flush=True)
