"""How long training will take, judging by a run that is there."""

from attest.runs.folder import RunFolder, read_json


def duration(seconds: float) -> str:
    """Seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def seconds_an_epoch(run: RunFolder) -> float | None:
    """What an epoch of a trained run took; None where that is not known, as of a run that was stopped and taken up."""
    if not (run.timing.is_file() and run.curves.is_file()):
        return None
    seconds, epochs = read_json(run.timing).get("seconds", {}), len(read_json(run.curves))
    return None if "train" not in seconds or "train since the last stop" in seconds else seconds["train"] / max(epochs, 1)


def at_most(epochs: int | None, steps: int, base: RunFolder) -> str:
    """The limit of a training in words, and how long its epochs take if they are as long as those of a base.

    Args:
        epochs, steps: how many at most; None or -1 for no limit.
        base: a trained run.
    """
    if steps >= 0:
        return f"at most {steps} steps"
    if epochs is None or epochs < 0:
        return "no limit to its epochs"
    each = seconds_an_epoch(base)
    took = "" if each is None else f", about {duration(epochs * each)} judging by the base"
    return f"at most {epochs} epoch{'' if epochs == 1 else 's'}{took}"
