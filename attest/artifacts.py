"""A run's files as W&B artifacts: what was trained, and what was found out about it.

The checkpoint is referred to where it lies in the run folder, so logging offline costs no second copy of it; what a later
command may write anew is copied.
"""

from pathlib import Path
from typing import Any, Literal

import wandb
from wandb.sdk.wandb_run import Run

from attest.run_folder import RunFolder, read_json


def log_artifacts(run: Run, folder: RunFolder) -> None:
    """Log the model (best checkpoint and configuration) and the evidence (tables, summary, figures, report) of a run."""
    run.log_artifact(model_artifact(folder, run.id))
    files = [folder.summary, folder.timing, folder.curves, folder.report]
    files += sorted(path for place in (folder.evidence("E1").parent, folder.figures) for path in place.glob("*.*"))
    about = {"model": model_name(run.id), "version": read_json(folder.summary)["version"]}
    run.log_artifact(_artifact(f"evidence-{run.id}", "evidence", files, folder, about))


def model_artifact(folder: RunFolder, wandb_id: str) -> wandb.Artifact:
    """The model of a run; equal content is one version, so a run that reads it can declare it by making it once more.

    Args:
        folder: of the run that trained it.
        wandb_id: of that run, or whatever else tells its name apart.
    """
    summary = read_json(folder.summary) if folder.summary.is_file() else {}
    scores = {name: value for name, value in summary.items() if name.startswith(("test/", "best/"))}
    return _artifact(model_name(wandb_id), "model", [folder.best, folder.config], folder, scores)


def model_name(wandb_id: str) -> str:
    """What the model of a run is called."""
    return f"checkpoint-{wandb_id}"


def _artifact(name: str, kind: str, files: list[Path], folder: RunFolder, metadata: dict[str, Any]) -> wandb.Artifact:
    artifact = wandb.Artifact(name, kind, metadata=metadata)
    for file in files:
        if file.is_file():
            policy: Literal["mutable", "immutable"] = "immutable" if file == folder.best else "mutable"
            artifact.add_file(str(file), name=file.relative_to(folder.path).as_posix(), policy=policy, skip_cache=True)
    return artifact
