"""A run's files as W&B artifacts: what was trained, and what was found out about it, with where each comes from.

The checkpoint is referred to where it lies in the run folder, so logging offline costs no second copy of it; what a later
command may write anew is copied.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import wandb
from wandb.errors import CommError
from wandb.sdk.wandb_run import Run

from attest.runs.folder import RunFolder, read_json


def log_artifacts(run: Run, folder: RunFolder) -> None:
    """Log the model (best checkpoint and configuration) and the evidence (tables, summary, figures, report) of a run.

    Lineage: the run puts out both; where it depends on another run, it takes in that one's model. W&B draws inputs only of
    runs that are online, so they stand in the metadata too.
    """
    base = _base_of(folder)
    if base is not None and not run.offline:
        with suppress(CommError, ValueError):  # the base was never logged online
            run.use_artifact(f"{model_name(base)}:latest")
    summary = read_json(folder.summary)
    scores = {name: value for name, value in summary.items() if name.startswith(("test/", "best/"))}
    inputs = {} if base is None else {"base_model": model_name(base)}
    run.log_artifact(_artifact(model_name(run.id), "model", [folder.best, folder.config], folder, scores | inputs))
    files = [folder.summary, folder.timing, folder.curves, folder.report]
    files += sorted(path for place in (folder.evidence("E1").parent, folder.figures) for path in place.glob("*.*"))
    about = {"model": model_name(run.id), "version": summary["version"]}
    run.log_artifact(_artifact(f"evidence-{run.id}", "evidence", files, folder, about | inputs))


def model_name(wandb_id: str) -> str:
    """What the model of a run is called."""
    return f"model-{wandb_id}"


def _base_of(folder: RunFolder) -> str | None:
    """The W&B id of the run whose checkpoint this one reads, if it reads any."""
    return read_json(folder.timing).get("base", {}).get("wandb_id")


def _artifact(name: str, kind: str, files: list[Path], folder: RunFolder, metadata: dict[str, Any]) -> wandb.Artifact:
    artifact = wandb.Artifact(name, kind, metadata=metadata)
    for file in files:
        if file.is_file():
            policy: Literal["mutable", "immutable"] = "immutable" if file == folder.best else "mutable"
            artifact.add_file(str(file), name=file.relative_to(folder.path).as_posix(), policy=policy, skip_cache=True)
    return artifact
