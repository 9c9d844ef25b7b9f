"""Set up the loggers that the configuration names, W&B, CSV or TensorBoard, so that they write into the run folder and a
resumed run continues its files.
"""

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from lightning_fabric.loggers.logger import rank_zero_experiment
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger
from pytorch_lightning.loggers.csv_logs import ExperimentWriter
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from attest.datamodules.notice import say
from attest.experiments.registry import EXPERIMENTS
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.tracking.staging import whole_in_its_folder
from attest.runs.folder import RunFolder
from attest.runs.identity import ADVERSARIAL, GUIDES, KEYS, RunIdentity

UNSET = "."
"""The default of a logger's ``save_dir`` (the current folder), by which it is known that the user has set no folder."""


def point_loggers(
    configured: object, folder: RunFolder, name: str, wandb_id: str, grouping: Mapping[str, Any], texts: bool = True
) -> None:
    """Set the folder of each logger and the name of the W&B run in the configuration, if the user has set none.

    Args:
        grouping: ``group``, ``job_type`` and ``tags`` of the run in W&B, used if the user has set none.
        texts: whether W&B may get texts; else it does not get what the terminal shows, which may quote a text.
    """
    for logger in configured if isinstance(configured, list) else [configured]:
        if not isinstance(logger, Namespace):
            continue
        options = logger.init_args
        if options.save_dir == UNSET:
            options.save_dir = str(folder.path)
        if logger.class_path.endswith("WandbLogger"):
            _name_wandb_run(options, name, wandb_id, grouping)
            if not texts:
                options.settings = {**(options.get("settings") or {}), "console": "off"}


def _name_wandb_run(options: Namespace, name: str, wandb_id: str, grouping: Mapping[str, Any]) -> None:
    for option, value in list(vars(options).items()):
        if value is None:  # None would override what WandbLogger sets, such as resuming
            del options[option]
    options.name = options.get("name") or name
    options.id = wandb_id
    for option, value in grouping.items():
        options[option] = options.get(option) or value
    if not options.offline and os.environ.get("WANDB_MODE", "online") == "online":
        from attest.report.tracking.wandb_report import logged_in  # imports W&B, which other loggers do not need

        if not logged_in():
            options.offline, options.mode = True, "offline"


def without_deprecated(loggers: Iterable[Logger]) -> None:
    """Remove a setting of Lightning's W&B loggers that makes W&B warn at every start."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger._wandb_init.pop("anonymous", None)


def log_report(
    loggers: Iterable[Logger], found: Findings, figures: Sequence[Illustration], texts: bool = True, weights: bool = True
) -> None:
    """Copy the results in a run folder (numbers, figures, report, model, tables) to W&B.

    Args:
        texts: whether W&B may get texts; without them, the report, the table of texts and their tokens are left out.
        weights: whether W&B gets the weights of the model.
    """
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            from attest.report.tracking.wandb_report import send_report  # imports W&B, which other loggers do not need

            send_report(logger.experiment, found, figures, texts, weights)


def tell_what_is_sent(loggers: Iterable[Logger], texts: bool) -> None:
    """Say, before W&B gets anything, that it gets no text of the user's own data, and what to type so that it does."""
    if not texts and any(isinstance(logger, WandbLogger) for logger in loggers):
        say(
            "W&B gets numbers, settings, figures and weights of this run, and none of your texts: the report, the table of "
            "texts and what the terminal shows are left out. Add --run.upload_texts=true to log texts, too."
        )


def declare_base(loggers: Iterable[Logger], base: RunFolder, wandb_id: str | None, sha256: str) -> None:
    """Record in a run's W&B configuration which checkpoint of the base run it uses."""
    facts = {"checkpoint": str(base.best), "sha256": sha256, "wandb_id": wandb_id}
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.experiment.config.update({"base": facts}, allow_val_change=True)


class CSVLog(CSVLogger):
    """A ``CSVLogger`` that continues the same file when a run is resumed; it takes the same arguments."""

    def __init__(self, save_dir: str, name: str | None = "csv", version: int | str | None = 0, **options: Any) -> None:
        super().__init__(save_dir, name, version, **options)
        self._writer: ContinuedWriter | None = None

    @property
    @rank_zero_experiment
    def experiment(self) -> "ContinuedWriter":
        """Return the writer of the CSV file; it continues an existing file or begins a new one."""
        if self._writer is None:
            self._experiment = self._writer = ContinuedWriter(self.log_dir)
        return self._writer

    @rank_zero_only
    def forget_from(self, step: int) -> None:
        """Delete all CSV rows whose step is ``step`` or later, because a resumed run writes these rows again."""
        self.experiment.forget_from(step)


class ContinuedWriter(ExperimentWriter):
    """A CSV writer that adds rows to an existing file; Lightning's own writer would delete this file."""

    def __init__(self, log_dir: str) -> None:
        super().__init__(log_dir)
        if rows := self._rows():
            self.metrics_keys = list(rows[0])

    def forget_from(self, step: int) -> None:
        """Delete all rows with this step or a later step from the CSV file."""
        if rows := self._rows():
            with Path(self.metrics_file_path).open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=self.metrics_keys)
                writer.writeheader()
                writer.writerows(row for row in rows if int(row["step"]) < step)

    def _rows(self) -> list[dict[str, str]]:
        """Return the rows of the CSV file; an incomplete last row is left out."""
        file = Path(self.metrics_file_path)
        if not file.is_file():
            return []
        with file.open(encoding="utf-8", newline="") as lines:
            return [row for row in csv.DictReader(lines) if (row.get("step") or "").isdigit()]

    def _check_log_dir_exists(self) -> None:
        """Accept an existing log folder; Lightning's own method would delete the log file in this folder."""


JOBS = {ADVERSARIAL: "adversary", KEYS: "adversary", GUIDES: "guide"}
"""The job type that W&B shows for a run that depends on a base run, by the kind of the run. Runs of all other kinds are
``control``."""


def grouping(identity: RunIdentity, run: Any) -> dict[str, Any]:
    """Return the options of ``wandb.init`` that put a run into a group.

    Returns:
        ``group``, the setting, which seeds share, so that W&B draws them as one band; ``job_type``; ``tags``, the corpus and
        the model.
    """
    job = "control" if run.projection in ("uniform", "last") or run.model == "average" else "base"  # without learned attention
    if identity.kind:
        job = JOBS.get(identity.kind, "control")
    return {"group": identity.setting, "job_type": job, "tags": [run.data, run.model]}


OF_EACH = 3
"""Of the measures of each experiment, W&B draws so many as curves over epochs: the first ones in the description of the
experiment."""
IN_EACH = "/validation/"
"""The middle part of the name under which an experiment logs a number on validation texts:
``<experiment>/validation/<column>/mean``."""


def is_headline(name: str) -> bool:
    """Return whether W&B draws a logged number as a curve (against steps or epochs).

    Such numbers are losses, learning rate and gradient norm of the training, the scores on validation, and the first
    measures of each experiment in its spec; for an experiment that the registry does not know, all numbers.
    """
    experiment, between, column = name.partition(IN_EACH)
    if between and experiment in EXPERIMENTS:
        return column in {f"{measure.name}/mean" for measure in EXPERIMENTS[experiment].measures[:OF_EACH]}
    return bool(between) or name.startswith(("train/", "validation/"))


class HeadlineWandbLogger(WandbLogger):
    """A ``WandbLogger`` that draws only the most important numbers as curves (see ``is_headline``).

    Scores that are no headline go to W&B's summary. Other evidence on validation stands in ``curves.json``, which
    ``log_report`` logs as a table.

    All that it logs lies in the folder of the W&B run. A resumed offline run counts its W&B steps on from its earlier
    sittings: W&B itself begins at 0, because it does not know them, and an upload would draw the sittings over each other.
    """

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """Return the W&B run, which is started when it is first asked for."""
        begins = self._experiment is None
        run = super().experiment
        if begins:
            from attest.report.tracking.wandb_report import go_on  # this class is also imported without W&B

            go_on(run)
        return run

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log headline numbers (those drawn as curves) to the W&B history, and other numbers to the summary."""
        from wandb.sdk.data_types.base_types.wb_value import WBValue  # this class is also imported without W&B

        metrics = {name: each for name, each in metrics.items() if isinstance(each, WBValue) or not isnan(each)}
        shown: dict[str, Any] = {
            name: each for name, each in metrics.items() if is_headline(name) or isinstance(each, WBValue)
        }
        once = {name: value for name, value in metrics.items() if name not in {*shown, "epoch"} and IN_EACH not in name}
        if shown:
            with whole_in_its_folder(self.experiment):
                super().log_metrics(shown | {name: metrics[name] for name in ("epoch",) if name in metrics}, step)
        if once:
            self.experiment.summary.update(once)


class EpochAxes(Callback):
    """A callback that makes W&B plot the main validation numbers against epochs instead of steps."""

    def __init__(self) -> None:
        self._told = False

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell W&B, after the first epoch, which validation numbers it should plot against epochs."""
        if self._told or not trainer.is_global_zero:
            return
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                logger.experiment.define_metric("epoch", hidden=True)
                for name in trainer.callback_metrics:
                    if "validation" in name and is_headline(name):
                        logger.experiment.define_metric(name, step_metric="epoch")
        self._told = True


class ContinuedLog(Callback):
    """A callback that deletes from CSV logs the rows that a resumed run will write again."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Delete the CSV rows that are later than the checkpoint from which a run is resumed."""
        for logger in trainer.loggers:
            if isinstance(logger, CSVLog):
                logger.forget_from(trainer.global_step)
