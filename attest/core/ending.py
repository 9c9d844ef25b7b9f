"""A way to end a process when the process that started it ends."""

import ctypes
import signal
import sys

_SIGNAL_WHEN_PARENT_ENDS = 1  # PR_SET_PDEATHSIG of Linux's prctl


def end_with_parent() -> None:
    """Tell the system to kill this process when its parent process ends; only on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
