"""The judges in W&B: the matrix as a table and an image."""

import os
from pathlib import Path
from typing import Literal

import pandas as pd
import wandb

PROJECT = "attest"


def log_judges(folder: Path, judged: pd.DataFrame) -> Path:
    """Log what ``attest judges`` has written, as a W&B run of its own; offline unless the user is logged in.

    Args:
        folder: with ``judges.png`` in it.
        judged: one row a test, defendant and rule.
    Returns:
        The folder of the W&B run.
    """
    mode: Literal["offline", "online"] = "offline" if wandb.api.api_key is None else "online"
    settings = None if "WANDB_MODE" in os.environ else wandb.Settings(mode=mode)
    with wandb.init(project=PROJECT, job_type="judges", name="judges", dir=str(folder), settings=settings) as run:
        run.log({"judges/matrix": wandb.Table(dataframe=judged), "judges/heat_map": wandb.Image(str(folder / "judges.png"))})
        return Path(run.dir).parent
