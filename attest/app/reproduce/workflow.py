"""How a workflow is started: on this machine, or on a cluster as a profile says.

One GPU for each of the runs that share a machine.

    python -m attest.app.reproduce.workflow 4 <command …>

runs the command on one of the first four GPUs (of those that ``CUDA_VISIBLE_DEVICES`` leaves), and waits where all are taken.
"""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError, install_command, unknown_choice
from attest.core.places import configs_folder

STOPS = (signal.SIGINT, signal.SIGTERM)


def run_as_group(command: Sequence[str]) -> int:
    """Run a command to its end; returns its exit code.

    Whoever stops this process stops everything that the command has started, as Ctrl-C in a terminal would: nothing runs on
    unseen, and runs end where they can be taken up.

    Raises:
        KeyboardInterrupt, Lightning's SIGTERMException: this process was told to stop, and all of the group has ended.
    """
    started: list[int] = []
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        for group in started:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGINT)

    # before the command starts: it would inherit that a shell's background ignores SIGINT, but no handler
    before = {number: signal.signal(number, stop) for number in STOPS}
    try:
        process = subprocess.Popen(command, start_new_session=True)
        started.append(process.pid)
        if received:
            stop(received[0], None)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise _as_raised(received[0])
    return code


def _as_raised(number: int) -> BaseException:
    """What stops a command of ours at this signal; Lightning takes seconds to import, for which only a stop waits."""
    if number != signal.SIGTERM:
        return KeyboardInterrupt()
    from pytorch_lightning.utilities.exceptions import SIGTERMException

    return SIGTERMException()


def carry_out(command: list[str]) -> int:
    """Run Snakemake to its end; returns its exit code.

    Raises:
        AttestError: it is not installed.
    """
    if find_spec("snakemake") is None:
        raise AttestError(
            f"Snakemake is missing; expected it, because it starts the runs. Type: {install_command('reproduce')}"
        )
    return run_as_group(command)


def snakemake_command(snakefile: Path, configuration: Path, jobs: int, gpus: int, profile: str) -> list[str]:
    """What starts a workflow; locks are ours, since Snakemake's outlive a process that was killed.

    Args:
        snakefile: the workflow.
        configuration: its configuration file.
        jobs: at once, on this machine.
        gpus: to share out.
        profile: of the cluster; on this machine if empty.
    """
    scheduling = [f"--workflow-profile={profile_folder(profile)}"] if profile else [f"--cores={jobs}"]
    return [
        *(sys.executable, "-m", "snakemake", f"--snakefile={snakefile}", f"--configfile={configuration}"),
        *("--nolock", "--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "input"),
        *("--quiet", "rules", "host", "progress", f"--resources=gpu={gpus}", *scheduling),
    ]


def profile_folder(name: str) -> Path:
    """Where the profile of a cluster lies.

    Raises:
        AttestError: there is none of this name.
    """
    folder = configs_folder() / "profiles" / name
    if not folder.is_dir():
        known = [path.name for path in folder.parent.iterdir()]
        raise unknown_choice("PROFILE", name, known, "make reproduce TABLE=jw-2 PROFILE={}")
    return folder


SECONDS_BETWEEN_ROUNDS = 1.0
VISIBLE = "CUDA_VISIBLE_DEVICES"


def on_one_gpu(count: int) -> list[str]:
    """What to put before a command that is to have one of so many GPUs to itself."""
    return [sys.executable, "-m", "attest.app.reproduce.workflow", str(count)]


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
