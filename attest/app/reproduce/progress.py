"""The lines that a workflow prints: one line when a job begins and one line when it ends.

They are read from the files of the jobs, so they are the same on this machine and on a cluster.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attest.core.measures.numbers import duration


@dataclass(frozen=True)
class Watched:
    """The files that show the state of a job."""

    name: str
    log: Path
    done: Path


class Progress:
    """The jobs of a workflow that have not ended yet."""

    def __init__(self, jobs: Sequence[Watched]) -> None:
        self._total = len(jobs)
        self._before = {job: (_modified(job.log), _modified(job.done)) for job in jobs}
        self._waiting = list(jobs)
        self._began: dict[Watched, float] = {}
        self._ended = 0

    def look(self) -> None:
        """Print a line for each job that has begun and each job that has ended since the last call."""
        for job in [job for job in self._waiting if (_modified(job.log), _modified(job.done)) != self._before[job]]:
            self._waiting.remove(job)
            self._began[job] = time.monotonic()
            print(f"{self._total - len(self._waiting)} of {self._total} begins: {job.name}", flush=True)
        for job in [job for job in self._began if _modified(job.done) not in (None, self._before[job][1])]:
            self._ended += 1
            took = duration(time.monotonic() - self._began.pop(job))
            print(f"{self._ended} of {self._total} done: {job.name}, after {took}", flush=True)


def _modified(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.exists() else None
