"""The seconds that finished runs took, and seconds in words."""

from pathlib import Path

from attest.runs.folder import RunFolder, read_json

TRAINING = "train"
"""The part of a run that is its training."""


def seconds_of(run: RunFolder) -> dict[str, float]:
    """Return the seconds that each part of a finished run took, its evidence as on one process; empty if they are not known.

    A run that was stopped and resumed has only the seconds since its last stop, so its seconds are not known.
    """
    if not (run.summary.is_file() and run.timing.is_file()):
        return {}
    timing = read_json(run.timing)
    seconds, processes = timing.get("seconds", {}), timing.get("processes", {})
    if TRAINING not in seconds or "train since the last stop" in seconds:
        return {}
    return {part: value * processes.get(part, 1) for part, value in seconds.items()}


def run_seconds(folder: Path) -> float | None:
    """Return the seconds of training and evidence of a finished run, as on one process; None if they are not known."""
    return sum(seconds_of(RunFolder(folder)).values()) or None


def duration(seconds: float) -> str:
    """Return seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
