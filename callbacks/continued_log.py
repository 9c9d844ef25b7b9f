"""A log without duplicate rows, however often a run was stopped and resumed."""

from pytorch_lightning import Callback, LightningModule, Trainer

from attest.tracking.csv_log import CSVLog


class ContinuedLog(Callback):
    """Has CSV logs forget the steps between the checkpoint that a run is taken up from and the moment it was stopped."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """When the checkpoint has said which steps are behind."""
        for logger in trainer.loggers:
            if isinstance(logger, CSVLog):
                logger.forget_from(trainer.global_step)
