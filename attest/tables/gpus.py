"""One GPU for each of the runs that share a machine.

    python -m attest.tables.gpus 4 <command …>

runs the command on one of the first four GPUs (of those that ``CUDA_VISIBLE_DEVICES`` leaves), and waits where all are taken.
"""

import os
import stat
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attest.errors import AttestError

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
        folder: of the locks, the same for all processes of this user on a machine; made if it is not there.
    Raises:
        AttestError: the folder is another user's.
    """
    import fcntl  # not on Windows, where the rest of this file may be imported

    _require_own(folder)

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


def _require_own(folder: Path) -> None:
    """Make the folder where it is not there; refuse a link, and what another user has put there."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
        raise AttestError(
            f"{folder} is a link or may be written by others; expected a folder of yours alone, for locks. Remove it, or type "
            "TMPDIR=<folder> before the command"
        )


def locks() -> Path:
    """The folder of this user's locks."""
    return Path(tempfile.gettempdir(), f"attest-gpus-{os.getuid()}")


if __name__ == "__main__":
    how_many, *command = sys.argv[1:]
    os.environ[VISIBLE] = take_one(visible_gpus(int(how_many)), locks())
    os.execvp(command[0], command)
