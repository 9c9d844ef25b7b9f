"""Two ways to end processes when the process that started them ends, however that ends."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_SIGNAL_WHEN_PARENT_ENDS = 1  # PR_SET_PDEATHSIG of Linux's prctl
_DONE = "done"


def end_with_parent() -> None:
    """Tell the system to kill this process when its parent process ends; only on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)


@contextmanager
def group_that_ends_with_this_process() -> Iterator[Callable[[int], None]]:
    """Return a function that takes a process group; if this process is killed inside the ``with`` block, so is the group.

    A second process watches: it holds the other end of a pipe, which the system closes when this process ends. So it also
    reaches the processes that the group's first process has started.
    """
    watcher = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE, text=True, start_new_session=True)
    pipe = watcher.stdin
    assert pipe is not None

    def tell(word: object) -> None:
        with suppress(BrokenPipeError):  # the watcher itself was killed
            pipe.write(f"{word}\n")
            pipe.flush()

    try:
        yield tell
    finally:
        tell(_DONE)
        watcher.communicate()


def _watch(told: str) -> None:
    group, *rest = told.split() or [_DONE]
    if group != _DONE and not rest:
        with suppress(ProcessLookupError):  # the group has ended by itself
            os.killpg(int(group), signal.SIGKILL)


if __name__ == "__main__":
    _watch(sys.stdin.read())
