"""Waiting, with a deadline, for something that happens in another process. pyproject.toml lets tests sleep nowhere else."""

import os
import select
import subprocess
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
INTERVAL = 0.01
"""Seconds between two looks at what offers no event."""
A_MINUTE = 60.0


def wait_until(condition: Callable[[], T], process: subprocess.Popen | None = None, seconds: float = 600) -> T:
    """Return what a condition returns as soon as it is true, such as the files that another process has written.

    Args:
        process: the process that makes it true; the wait fails if this process ends before.
    """
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert process is None or process.poll() is None, "the process ended before that"
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(INTERVAL)
    return found


def has_ended(pid: int, seconds: float = A_MINUTE) -> bool:
    """Wait until a process has ended, whether or not its parent has noticed; False if it goes on all the time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def wait_to_be_stopped() -> None:
    """Wait for what never comes, in a process that another one is to stop; not forever, so that a test that fails ends."""
    threading.Event().wait(A_MINUTE)
