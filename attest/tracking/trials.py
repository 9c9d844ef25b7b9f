"""A trial of somebody's model in W&B: its numbers, tables, figures and report."""

from pathlib import Path

import pandas as pd
import wandb

from attest.runs.folder import RunFolder, read_json
from attest.tracking.figure_table import figure_table
from attest.tracking.offline import started


def log_trial(folder: RunFolder, model: str) -> Path:
    """Log what ``attest trial`` has written, as a W&B run of its own; offline unless the user is logged in.

    Args:
        folder: of the trial, with its report.
        model: what was put on trial.
    Returns:
        The folder of the W&B run.
    """
    tables = {path.stem: pd.read_parquet(path) for path in sorted(folder.evidence("E1").parent.glob("*.parquet"))}
    plain = {f"{name}/table": wandb.Table(dataframe=rows.select_dtypes(["number", "bool"])) for name, rows in tables.items()}
    with started("trial", Path(model).name, folder.path, config=folder.settings()) as run:
        run.log(plain | {"figures": figure_table(folder, {}), "report": wandb.Html(str(folder.report), inject=False)})
        run.summary.update({name: value for name, value in read_json(folder.summary).items() if value is not None})
        return Path(run.dir).parent
