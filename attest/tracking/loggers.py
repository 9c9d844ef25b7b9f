"""Loggers pointed at the run folder, whichever the configuration names: W&B, CSV, TensorBoard, or several."""

import os
from collections.abc import Iterable, Sequence

import wandb
from jsonargparse import Namespace
from pytorch_lightning.loggers import Logger, WandbLogger

from attest.report.illustration import Illustration
from attest.report.saved_figures import figure_file
from attest.runs.folder import RunFolder
from attest.tracking.artifacts import log_artifacts

UNSET = "."
"""The ``save_dir`` of a logger that was not told where to write."""


def point_loggers(configured: object, folder: RunFolder, name: str, wandb_id: str) -> None:
    """Fill in, in place, where loggers write and what W&B calls the run; what the user has set stays.

    Args:
        configured: ``trainer.logger`` as parsed: a logger, a list of them, or a truth value.
        folder: of the run.
        name: readable name of the run.
        wandb_id: of the run, the same after every resume.
    """
    for logger in configured if isinstance(configured, list) else [configured]:
        if not isinstance(logger, Namespace):
            continue
        options = logger.init_args
        if options.save_dir == UNSET:
            options.save_dir = str(folder.path)
        if logger.class_path.endswith("WandbLogger"):
            _name_wandb_run(options, name, wandb_id)


def _name_wandb_run(options: Namespace, name: str, wandb_id: str) -> None:
    for option, value in list(vars(options).items()):
        if value is None:  # a null would override what WandbLogger sets itself, resuming above all
            del options[option]
    options.name = options.get("name") or name
    options.id = wandb_id
    if not options.offline and "WANDB_MODE" not in os.environ and not _logged_in():
        options.offline, options.mode = True, "offline"


def _logged_in() -> bool:
    try:
        return wandb.login(prompt=False)
    except wandb.errors.Error as error:
        reason = str(error).splitlines()[0]
        print(f"W&B is out of reach ({reason}); this run is logged offline, `wandb sync` brings it up later.", flush=True)
        return False


def without_deprecated(loggers: Iterable[Logger]) -> None:
    """Keep Lightning from passing W&B a setting that W&B warns about at every start."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger._wandb_init.pop("anonymous", None)


def log_report(loggers: Iterable[Logger], folder: RunFolder, figures: Sequence[Illustration]) -> None:
    """Send figures, report, model and evidence to W&B, as they lie in the run folder."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            pictures = {each.key: wandb.Image(str(figure_file(folder, each, "png")), caption=each.caption) for each in figures}
            logger.experiment.log(pictures | {"report": wandb.Html(str(folder.report), inject=False)})
            log_artifacts(logger.experiment, folder)


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
