"""Loggers pointed at the run folder, whichever the configuration names: W&B, CSV, TensorBoard, or several."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jsonargparse import Namespace
from pytorch_lightning.loggers import Logger, WandbLogger

from attest.report.illustration import Illustration
from attest.runs.folder import RunFolder

UNSET = "."
"""The ``save_dir`` of a logger that was not told where to write."""


def point_loggers(configured: object, folder: RunFolder, name: str, wandb_id: str, grouping: Mapping[str, Any]) -> None:
    """Fill in, in place, where loggers write and what W&B calls the run; what the user has set stays.

    Args:
        configured: ``trainer.logger`` as parsed: a logger, a list of them, or a truth value.
        folder: of the run.
        name: readable name of the run.
        wandb_id: of the run, the same after every resume.
        grouping: ``group``, ``job_type`` and ``tags`` of the run in W&B, where the user has set none.
    """
    for logger in configured if isinstance(configured, list) else [configured]:
        if not isinstance(logger, Namespace):
            continue
        options = logger.init_args
        if options.save_dir == UNSET:
            options.save_dir = str(folder.path)
        if logger.class_path.endswith("WandbLogger"):
            _name_wandb_run(options, name, wandb_id, grouping)


def _name_wandb_run(options: Namespace, name: str, wandb_id: str, grouping: Mapping[str, Any]) -> None:
    for option, value in list(vars(options).items()):
        if value is None:  # a null would override what WandbLogger sets itself, resuming above all
            del options[option]
    options.name = options.get("name") or name
    options.id = wandb_id
    for option, value in grouping.items():
        options[option] = options.get(option) or value
    if not options.offline and os.environ.get("WANDB_MODE", "online") == "online" and not _logged_in():
        options.offline, options.mode = True, "offline"


def _logged_in() -> bool:
    from attest.tracking.offline import logged_in  # with W&B, which no other logger waits for

    return logged_in()


def without_deprecated(loggers: Iterable[Logger]) -> None:
    """Keep Lightning from passing W&B a setting that W&B warns about at every start."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger._wandb_init.pop("anonymous", None)


def log_report(loggers: Iterable[Logger], folder: RunFolder, figures: Sequence[Illustration]) -> None:
    """Send numbers, figures, report, model and evidence to W&B, as they lie in the run folder."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            from attest.tracking.wandb_report import send_report  # with W&B, which no other logger waits for

            send_report(logger.experiment, folder, figures)


def declare_base(loggers: Iterable[Logger], base: RunFolder, wandb_id: str | None, sha256: str) -> None:
    """Name in W&B's configuration of a run the checkpoint that it reads; ``log_artifacts`` draws the lineage.

    Args:
        loggers: of the run that reads.
        base: the run that is read.
        wandb_id: of that run, None where it has none.
        sha256: of its best checkpoint.
    """
    facts = {"checkpoint": str(base.best), "sha256": sha256, "wandb_id": wandb_id}
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.experiment.config.update({"base": facts}, allow_val_change=True)
