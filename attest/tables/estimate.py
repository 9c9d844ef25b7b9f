"""How long the missing runs will take, judging by existing runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from attest.compute.cores import cores
from attest.runs.folder import RunFolder
from attest.runs.forecast import duration
from attest.runs.past import TRAINING, in_all, past, seconds_of
from attest.tables.plan import Job


def run_seconds(folder: Path) -> float | None:
    """Seconds that a finished run took, training and evidence, as on one process; None where that is not known."""
    return in_all(seconds_of(RunFolder(folder))) or None


def expected_seconds(job: Job, root: Path, processes: int = 1) -> float | None:
    """How long it takes, judging by runs like it; None where nothing is known.

    Args:
        job: what is to be run.
        root: folder of all runs.
        processes: that share its evidence.
    """
    known = past(root, job.alike) if job.alike else None
    if known is None:
        return None
    training = known.seconds[TRAINING]
    return training + (in_all(known.seconds) - training) / processes


def forecast(jobs: Iterable[Job], root: Path, at_once: int) -> str:
    """What would run, a line each, and how long all of it takes.

    Args:
        jobs: what is to be run.
        root: folder of all runs.
        at_once: how many run at the same time.
    """
    processes = max(1, cores() // at_once)
    expected = {job: expected_seconds(job, root, processes) for job in jobs}
    lines = [f"{'unknown' if known is None else duration(known):>9}  {_shown(job, root)}" for job, known in expected.items()]
    return "\n".join([*lines, _in_all(list(expected.values()), at_once)])


def _in_all(expected: Sequence[float | None], at_once: int) -> str:
    """How long runs take together, ``at_once`` of them side by side."""
    if not expected:
        return "0 runs; everything is there."
    known = [seconds for seconds in expected if seconds is not None]
    if not known:
        return f"{len(expected)} runs; no run that we know is like any of them, so how long they take is unknown."
    unknown = len(expected) - len(known)
    beside = f", beside {unknown} of which nothing is known" if unknown else ""
    total = f"{len(expected)} runs; about {duration(sum(known) / at_once)} with {at_once} at once"
    return f"{total}{beside}, judging by the median of runs like them."


def _shown(job: Job, root: Path) -> str:
    return str(job.folder.relative_to(root)) if job.folder.is_relative_to(root) else str(job.folder)
