"""How long training and evidence will take, in words."""

from collections.abc import Iterable

from attest.runs.folder import RunFolder
from attest.runs.past import EPOCH, TRAINING, Past, in_all, seconds_of


def duration(seconds: float) -> str:
    """Seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def at_most(epochs: int | None, steps: int, base: RunFolder, otherwise: Past | None = None) -> str:
    """The limit of a training in words, and how long its epochs take if they are as long as those of a base.

    Args:
        epochs, steps: how many at most; None or -1 for no limit.
        base: a trained run.
        otherwise: what trainings like it took, where the base does not say.
    """
    if steps >= 0:
        return f"at most {steps} steps"
    each = seconds_of(base).get(EPOCH)
    if epochs is None or epochs < 0:
        return "no limit to its epochs"
    limit = f"at most {epochs} epoch{'' if epochs == 1 else 's'}"
    if each is not None:
        return f"{limit}, about {duration(epochs * each)} judging by the base"
    return f"{limit}, about {duration(otherwise.seconds[TRAINING])} judging by {otherwise.whose}" if otherwise else limit


def evidence_takes(known: Past | None, experiments: Iterable[str], processes: int) -> str:
    """How long evidence will take, in words; empty where nothing is known.

    Args:
        known: what that of other runs took.
        experiments: ids of those to be gathered.
        processes: that share them.
    """
    seconds = in_all(known.seconds, experiments) / processes if known else 0
    side_by_side = f" on {processes} processes" if processes > 1 else ""
    return f": about {duration(seconds)}{side_by_side}, judging by {known.whose}" if known and seconds >= 1 else ""
