"""One GPU for each of the runs that share a machine.

    python -m attest.tables.gpus 4 <command …>

runs the command on one of the first four GPUs (of those that ``CUDA_VISIBLE_DEVICES`` leaves), and waits where all are taken.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SECONDS_BETWEEN_ROUNDS = 1.0
VISIBLE = "CUDA_VISIBLE_DEVICES"


def on_one_gpu(count: int) -> list[str]:
    """What to put before a command that is to have one of so many GPUs to itself."""
    return [sys.executable, "-m", "attest.tables.gpus", str(count)]


def visible_gpus(count: int) -> list[str]:
    """The names of the first GPUs that this process may use."""
    given = os.environ.get(VISIBLE)
    return (given.split(",") if given else [str(number) for number in range(count)])[:count]


def take_one(names: Sequence[str], folder: Path) -> str:
    """Wait for a GPU that no other process has taken; it is this process's until it ends, also through ``exec``.

    Args:
        names: of the GPUs.
        folder: of the locks, the same for all processes of a machine.
    """
    import fcntl  # not on Windows, where the rest of this file may be imported

    while True:
        for name in names:
            lock = os.open(folder / f"attest-gpu-{name}.lock", os.O_RDWR | os.O_CREAT, 0o666)
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
    os.environ[VISIBLE] = take_one(visible_gpus(int(how_many)), Path(tempfile.gettempdir()))
    os.execvp(command[0], command)
