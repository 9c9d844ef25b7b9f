"""Silence messages of libraries that a user can do nothing about."""

import logging
import os
import warnings


def quieten() -> None:
    """Silence it; errors and our own sentences remain.

    To be called when Lightning has been imported, which sets its own level.
    """
    os.environ.setdefault("WANDB_SILENT", "true")
    for library in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(library).setLevel(logging.WARNING)
    for message in (
        ".*does not have many workers.*",
        ".*have no `val_dataloader`.*",
        ".*sync_dist=True.*",
        "The dirpath has changed from .*",
        ".*Checkpoint directory .* exists and is not empty.*",
        ".*The number of training batches .* is smaller than the logging interval.*",
        ".*isinstance.treespec, LeafSpec.*",
        ".*anonymous setting.*",
        "No (positive|negative) samples in targets.*",
        ".*module.s. in eval mode at the start of training.*",
        ".*callbacks used to create the checkpoint need to be provided.*",  # those that average weights, in a test
    ):
        warnings.filterwarnings("ignore", message)
