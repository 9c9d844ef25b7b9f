"""How a run is grouped in its W&B project: its group, the type of its job, its tags."""

from typing import Any

from attest.runs.identity import ADVERSARIAL, GUIDES, KEYS, RunIdentity

BASE, ADVERSARY, GUIDE, CONTROL = "base", "adversary", "guide", "control"
JOBS = {ADVERSARIAL: ADVERSARY, KEYS: ADVERSARY, GUIDES: GUIDE}
"""By kind of a run that depends on another; those of any other kind are controls."""


def grouping(identity: RunIdentity, run: Any) -> dict[str, Any]:
    """The options of ``wandb.init`` by which runs are grouped.

    Args:
        identity: of the run.
        run: its ``RunSettings``.
    Returns:
        ``group``, the setting, which seeds share, so that W&B draws them as one band; ``job_type``; ``tags``, the corpus and
        the model.
    """
    return {"group": identity.setting, "job_type": _job(identity, run), "tags": [run.data, run.model]}


def _job(identity: RunIdentity, run: Any) -> str:
    """A run without learned attention is a control of those that have it."""
    if identity.kind:
        return JOBS.get(identity.kind, CONTROL)
    return CONTROL if run.projection == "uniform" or run.model == "average" else BASE
