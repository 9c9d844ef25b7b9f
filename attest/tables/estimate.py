"""How long what is missing will take, judging by runs that are there."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from attest.runs.folder import RunFolder, read_json
from attest.runs.forecast import duration
from attest.tables.plan import Job


def run_seconds(folder: Path) -> float | None:
    """Seconds that a finished run took, training and evidence; None where that is not known.

    A run that was stopped and taken up tells the seconds since its last stop alone, and so does not count.
    """
    run = RunFolder(folder)
    if not (run.summary.is_file() and run.timing.is_file()):
        return None
    seconds = read_json(run.timing).get("seconds", {})
    return None if "train" not in seconds or "train since the last stop" in seconds else sum(seconds.values())


def expected_seconds(job: Job, root: Path) -> float | None:
    """Median over the finished runs most like this one; None where there are none.

    Args:
        job: what is to be run.
        root: folder of all runs.
    """
    for pattern in job.like:
        known = [seconds for folder in root.glob(pattern) if (seconds := run_seconds(folder)) is not None]
        if known:
            return statistics.median(known)
    return None


def forecast(jobs: Iterable[Job], root: Path, at_once: int) -> str:
    """What would run, a line each, and how long all of it takes.

    Args:
        jobs: what is to be run.
        root: folder of all runs.
        at_once: how many run at the same time.
    """
    expected = {job: expected_seconds(job, root) for job in jobs}
    lines = [f"{'unknown' if known is None else duration(known):>9}  {_shown(job, root)}" for job, known in expected.items()]
    return "\n".join([*lines, _in_all(list(expected.values()), at_once)])


def _in_all(expected: Sequence[float | None], at_once: int) -> str:
    """How long runs take together, ``at_once`` of them side by side."""
    if not expected:
        return "0 runs; everything is there."
    known = [seconds for seconds in expected if seconds is not None]
    if not known:
        return f"{len(expected)} runs; no finished run is like any of them, so how long they take is unknown."
    unknown = len(expected) - len(known)
    beside = f", beside {unknown} of which nothing is known" if unknown else ""
    total = f"{len(expected)} runs; about {duration(sum(known) / at_once)} with {at_once} at once"
    return f"{total}{beside}, judging by the median of finished runs like them."


def _shown(job: Job, root: Path) -> str:
    return str(job.folder.relative_to(root)) if job.folder.is_relative_to(root) else str(job.folder)
