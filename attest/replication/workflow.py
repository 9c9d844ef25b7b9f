"""Start a workflow on this machine or on a cluster, and distribute the GPUs of this machine to its jobs.

    python -m attest.replication.workflow 4 <command …>

runs the command on one of the first four GPUs (of those that ``CUDA_VISIBLE_DEVICES`` leaves), and waits if all are taken.
"""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from attest.core.ending import group_that_ends_with_this_process
from attest.core.errors import AttestError, unknown_choice
from attest.core.places import configs_folder
from attest.core.spelled import spelled
from attest.replication.plan import Job

STOPS = (signal.SIGINT, signal.SIGTERM)
SECONDS_BETWEEN_LOOKS = 0.5


class Progress:
    """The state of a workflow: the jobs that have not begun, and the jobs that have begun but not ended."""

    def __init__(self, jobs: Sequence[Job], root: Path) -> None:
        self._total, self._root = len(jobs), root
        self._before = {job: (_modified(job.log), _modified(job.summary)) for job in jobs}
        self._waiting, self._running = list(jobs), list[Job]()
        self._started = time.monotonic()

    def look(self) -> None:
        """Print each job that began since the last call, such as ``3 of 6 · sst jw-bilstm seed 1 · 4 min left``."""
        from attest.core.measures.numbers import duration  # seconds that no mistake in a command waits for

        begun = [job for job in self._waiting if (_modified(job.log), _modified(job.summary)) != self._before[job]]
        self._waiting = [job for job in self._waiting if job not in begun]
        self._running = [job for job in self._running + begun if _modified(job.summary) in (None, self._before[job][1])]
        left = len(self._waiting) + len(self._running)
        each = (time.monotonic() - self._started) / max(1, self._total - left)
        forecast = f" · {duration(each * left)} left" if left < self._total else ""
        for place, job in enumerate(begun, self._total - len(self._waiting) - len(begun) + 1):
            print(f"{place} of {self._total} · {job.named(self._root)}{forecast}", flush=True)


def _modified(file: Path) -> int | None:
    return file.stat().st_mtime_ns if file.exists() else None


def run_as_group(command: Sequence[str], log: Path, look: Callable[[], None]) -> int:
    """Run a command to its end as a process group, and return its exit code.

    If this process is told to stop, it sends SIGINT to the whole group, as Ctrl-C in a terminal does. So no process of the
    group goes on unseen, and the runs end in a state from which they can continue. If this process is killed, so is the group.

    Raises:
        KeyboardInterrupt, Lightning's SIGTERMException: this process was told to stop, and all of the group has ended.
    """
    received: list[int] = []
    # before the command starts: it would inherit that a shell's background ignores SIGINT, but no handler
    before = {number: signal.signal(number, lambda number, frame: received.append(number)) for number in STOPS}
    told = 0
    try:
        with group_that_ends_with_this_process() as started, log.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
            started(process.pid)
            while (code := process.poll()) is None:
                if len(received) > told:
                    told = len(received)
                    os.killpg(process.pid, signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):  # it goes on
                    process.wait(SECONDS_BETWEEN_LOOKS)
                look()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        from pytorch_lightning.utilities.exceptions import SIGTERMException  # seconds that a workflow does not wait for

        raise SIGTERMException if received[0] == signal.SIGTERM else KeyboardInterrupt
    return code


def profile_folder(name: str) -> Path:
    """Return the folder of a Snakemake profile, which says how jobs run on a cluster."""
    folder = configs_folder() / "profiles" / name
    if not folder.is_dir():
        known = [path.name for path in folder.parent.iterdir()]
        raise unknown_choice("PROFILE", name, known, spelled("reproduce", "TABLE=jw-2 PROFILE={}"))
    return folder


SECONDS_BETWEEN_ROUNDS = 1.0
VISIBLE = "CUDA_VISIBLE_DEVICES"


def on_one_gpu(count: int) -> list[str]:
    """Return a command prefix that reserves one of the first ``count`` GPUs for the command after it."""
    return [sys.executable, "-m", "attest.replication.workflow", str(count)]


def visible_gpus(count: int) -> list[str]:
    """Return the names of the first ``count`` GPUs that this process may use."""
    given = os.environ.get(VISIBLE)
    return (given.split(",") if given else [str(number) for number in range(count)])[:count]


def take_one(names: Sequence[str], folder: Path) -> str:
    """Wait for a free GPU, reserve it until this process ends, and return its name."""
    import fcntl  # not on Windows, where the rest of this file may be imported

    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
        raise AttestError(
            f"{folder} is a link, or other users can write to it; expected a folder that only you can write to, for the "
            "lock files of the GPUs. Remove this link or folder, or type TMPDIR=<folder> before the command"
        )
    while True:
        for name in names:
            lock = os.open(folder / f"{name.replace('/', '-')}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            os.set_inheritable(lock, True)
            return name
        time.sleep(SECONDS_BETWEEN_ROUNDS)


if __name__ == "__main__":
    how_many, *command = sys.argv[1:]
    locks = Path(tempfile.gettempdir(), f"attest-gpus-{os.getuid()}")
    os.environ[VISIBLE] = take_one(visible_gpus(int(how_many)), locks)
    os.execvp(command[0], command)
