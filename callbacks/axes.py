"""What W&B draws scores and evidence on validation against: epochs, so that curves of different runs can be compared."""

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import WandbLogger

from attest.tracking.headlines import is_headline


class EpochAxes(Callback):
    """Tells W&B, once a run, that every headline logged at validation end belongs to an epoch.

    Training losses keep the optimiser's steps as their axis, as Lightning has it.
    """

    def __init__(self) -> None:
        self._told = False

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """When the first epoch has shown which values there are."""
        if self._told or not trainer.is_global_zero:
            return
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                logger.experiment.define_metric("epoch", hidden=True)
                for name in trainer.callback_metrics:
                    if "validation" in name and is_headline(name):
                        logger.experiment.define_metric(name, step_metric="epoch")
        self._told = True
