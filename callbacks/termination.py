"""How a run on several processes ends when it is stopped."""

import os
import signal
from collections.abc import Callable
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer


class EndAtOnce(Callback):
    """On SIGTERM each of several processes ends where it is; the run goes on from the checkpoint last written.

    Lightning's own handler, which a single process keeps, lets all ranks talk to one another in the middle of whatever they
    are at. Where a cluster signals all of them together, one waits in that talk and the others in another one, for good.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._take_over(trainer)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._take_over(trainer)

    def _take_over(self, trainer: Trainer) -> None:
        """To be called once Lightning has set its handler, which it takes back when the stage is over."""
        if trainer.world_size > 1:
            signal.signal(signal.SIGTERM, _ending(trainer))


def _ending(trainer: Trainer) -> Callable[..., Any]:
    def end(signum: int, frame: Any) -> None:
        if (launcher := trainer.strategy.launcher) is not None:
            launcher.kill(signum)  # the ranks that this process has started
        if trainer.is_global_zero:
            os.write(2, b"attest: stopped; the same command takes the run up where it stopped.\n")
        os._exit(128 + signum)

    return end
