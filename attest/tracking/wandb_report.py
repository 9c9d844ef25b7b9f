"""What W&B shows of a finished run: numbers, figures and report, and its files as artifacts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import wandb
from wandb.sdk.wandb_run import Run

from attest.experiments.registry import measures
from attest.report.illustration import Illustration
from attest.runs.folder import RunFolder, read_json
from attest.tracking.artifacts import log_artifacts
from attest.tracking.figure_table import figure_table


def send_report(run: Run, folder: RunFolder, figures: Sequence[Illustration]) -> None:
    """Send numbers, figures, report, model and evidence to a W&B run, as they lie in the run folder."""
    pictures = {"figures": figure_table(folder, {each.key: each.caption for each in figures})}
    page = {"report": wandb.Html(str(folder.report), inject=False)}
    run.log(pictures | page | _tables(folder))
    run.summary.update(_verdict(read_json(folder.summary)))
    log_artifacts(run, folder)


def _verdict(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Of the numbers of a run the scores, and those that the report's verdict shows; undefined ones are left out."""
    means = {f"{key}/mean" for key in measures()}
    shown = {name: value for name, value in summary.items() if name in means or name.startswith(("test/", "best/"))}
    return {name: value for name, value in shown.items() if value is not None}


def _tables(folder: RunFolder) -> dict[str, wandb.Table]:
    """All numbers of a run, and all that was measured at the end of an epoch."""
    numbers = [[name, value] for name, value in read_json(folder.summary).items()]
    epochs = pd.DataFrame(read_json(folder.curves) if folder.curves.is_file() else [])
    return {"numbers": wandb.Table(["name", "value"], numbers), "epochs": wandb.Table(dataframe=epochs)}
