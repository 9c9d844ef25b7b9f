"""W&B runs for results without a Trainer."""

import os
from pathlib import Path
from typing import Any

import wandb

PROJECT = "attest"


def started(job: str, name: str, folder: Path, **options: Any) -> Any:
    """A W&B run below a folder; offline unless the user is logged in.

    Args:
        job: the type of job by which W&B groups runs.
        name: of the run.
        folder: in which its files go.
        options: of ``wandb.init``.
    """
    online = os.environ.get("WANDB_MODE", "online") == "online"
    settings = wandb.Settings(mode="offline") if online and not logged_in() else None
    return wandb.init(project=PROJECT, job_type=job, name=name, dir=str(folder), settings=settings, **options)


def logged_in() -> bool:
    """Whether W&B knows the user; where it cannot be reached or takes no such key, says so and answers no."""
    try:
        return wandb.login(prompt=False)
    except wandb.errors.Error as error:
        reason = str(error).splitlines()[0]
        print(f"W&B cannot be used ({reason}); this run is logged offline. `wandb sync` uploads it later.", flush=True)
        return False
