"""The lines that a workflow prints: one line when a job begins, with the time that is left.

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
        self._waiting, self._running = list(jobs), list[Watched]()
        self._started = time.monotonic()

    def look(self) -> None:
        """Print a line for each job that has begun since the last call: ``3 of 6 · sst jw-bilstm seed 1 · 4 min left``."""
        begun = [job for job in self._waiting if (_modified(job.log), _modified(job.done)) != self._before[job]]
        self._waiting = [job for job in self._waiting if job not in begun]
        self._running = [job for job in self._running + begun if _modified(job.done) in (None, self._before[job][1])]
        left = len(self._waiting) + len(self._running)
        each = (time.monotonic() - self._started) / max(1, self._total - left)
        forecast = f" · {duration(each * left)} left" if left < self._total else ""
        for place, job in enumerate(begun, self._total - len(self._waiting) - len(begun) + 1):
            print(f"{place} of {self._total} · {job.name}{forecast}", flush=True)


def _modified(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.exists() else None
