"""Ranks that Lightning starts end with the process that started them, however and whenever that one ends.

Left alone they wait for it: in the middle of a run until a connection breaks, and during set-up, where none is open yet, for
half an hour.
"""

import os
import sys

from attest.runs.ending import end_with_parent

FIRST_RANK = "ATTEST_FIRST_RANK_PID"
"""Names the process that started a rank, in that rank's environment."""
_ANOTHER_LAUNCHER = "TORCHELASTIC_RUN_ID"
"""Set where torchrun has started all ranks; their parent is none of them."""


def end_with_first_rank() -> None:
    """To be called when a process begins; only Linux offers this, and elsewhere nothing happens."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        os.environ[FIRST_RANK] = str(os.getpid())
    elif sys.platform == "linux" and _ANOTHER_LAUNCHER not in os.environ:
        end_with_parent()
        if os.environ.get(FIRST_RANK, str(os.getppid())) != str(os.getppid()):
            sys.exit("attest: the process that started this one has ended")  # before it could be heard of
