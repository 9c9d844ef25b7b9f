"""How long finished runs took, and seconds in words."""

from pathlib import Path

from attest.runs.folder import RunFolder, read_json

TRAINING, EPOCH = "train", "epoch"
"""Parts of a run: the whole of its training, and an epoch of it."""


def seconds_of(run: RunFolder) -> dict[str, float]:
    """What the parts of a finished run took, its evidence as on one process; empty where that is not known.

    A run that was stopped and taken up tells the seconds since its last stop alone, and so does not count.
    """
    if not (run.summary.is_file() and run.timing.is_file()):
        return {}
    timing = read_json(run.timing)
    seconds, processes = timing.get("seconds", {}), timing.get("processes", {})
    if TRAINING not in seconds or "train since the last stop" in seconds:
        return {}
    each = {part: value * processes.get(part, 1) for part, value in seconds.items()}
    epochs = len(read_json(run.curves)) if run.curves.is_file() else 0
    return each | ({EPOCH: seconds[TRAINING] / epochs} if epochs else {})


def run_seconds(folder: Path) -> float | None:
    """Return the seconds of training and evidence of a finished run, as on one process; None if they are not known."""
    return sum(value for part, value in seconds_of(RunFolder(folder)).items() if part != EPOCH) or None


def duration(seconds: float) -> str:
    """Seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def at_most(epochs: int | None, steps: int, base: RunFolder) -> str:
    """The limit of a training in words, and how long its epochs take if they are as long as those of a base.

    Args:
        epochs, steps: how many at most; None or -1 for no limit.
        base: a trained run.
    """
    if steps >= 0:
        return f"at most {steps} steps"
    each = seconds_of(base).get(EPOCH)
    if epochs is None or epochs < 0:
        return "no limit to its epochs"
    limit = f"at most {epochs} epoch{'' if epochs == 1 else 's'}"
    return limit if each is None else f"{limit}, about {duration(epochs * each)} judging by the base"
