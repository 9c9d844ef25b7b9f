"""Processes that end with the one that started them."""

import ctypes
import signal
import sys

_SIGNAL_WHEN_PARENT_ENDS = 1  # PR_SET_PDEATHSIG of Linux's prctl


def end_with_parent() -> None:
    """Have the system kill this process when its parent process ends; does nothing outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
