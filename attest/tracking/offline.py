"""W&B runs for results without a Trainer."""

import os
from pathlib import Path
from typing import Any

import wandb

PROJECT = "attest"


def started(job: str, name: str, folder: Path, **options: Any) -> Any:
    """A W&B run below a folder; offline unless the user is logged in, or ``WANDB_MODE`` says otherwise.

    Args:
        job: the type of job by which W&B groups runs.
        name: of the run.
        folder: in which its files go.
        options: of ``wandb.init``.
    """
    settings = None if "WANDB_MODE" in os.environ or logged_in() else wandb.Settings(mode="offline")
    return wandb.init(project=PROJECT, job_type=job, name=name, dir=str(folder), settings=settings, **options)


def logged_in() -> bool:
    """Whether W&B knows the user; where W&B cannot be reached, says so and answers no."""
    try:
        return wandb.login(prompt=False)
    except wandb.errors.Error as error:
        reason = str(error).splitlines()[0]
        print(f"W&B cannot be reached ({reason}); this run is logged offline. `wandb sync` uploads it later.", flush=True)
        return False
