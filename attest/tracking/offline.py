"""W&B runs of their own for what no Trainer makes."""

import os
from pathlib import Path
from typing import Any, Literal

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
    mode: Literal["offline", "online"] = "offline" if wandb.api.api_key is None else "online"
    settings = None if "WANDB_MODE" in os.environ else wandb.Settings(mode=mode)
    return wandb.init(project=PROJECT, job_type=job, name=name, dir=str(folder), settings=settings, **options)
