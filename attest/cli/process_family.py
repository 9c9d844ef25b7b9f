"""Ranks that Lightning starts end with the process that started them, however and whenever that one ends.

Left alone they wait for it: in the middle of a run until a connection breaks, and during set-up, where none is open yet, for
half an hour.
"""

import ctypes
import os
import signal
import sys

FIRST_RANK = "ATTEST_FIRST_RANK_PID"
"""Names the process that started a rank, in that rank's environment."""
_ANOTHER_LAUNCHER = "TORCHELASTIC_RUN_ID"
"""Set where torchrun has started all ranks; their parent is none of them."""
_SIGNAL_WHEN_PARENT_ENDS = 1  # PR_SET_PDEATHSIG of Linux's prctl


def end_with_first_rank() -> None:
    """To be called when a process begins; only Linux offers this, and elsewhere nothing happens."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        os.environ[FIRST_RANK] = str(os.getpid())
    elif sys.platform == "linux" and _ANOTHER_LAUNCHER not in os.environ:
        ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
        if os.environ.get(FIRST_RANK, str(os.getppid())) != str(os.getppid()):
            sys.exit("attest: the process that started this one has ended")  # before it could be heard of
