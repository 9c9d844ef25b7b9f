"""How many cores there are for this process."""

import os
from contextlib import suppress
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def cores(quota: Path = _QUOTA) -> int:
    """How many cores this process may use: those it is bound to, and no more than its container's share of time.

    Args:
        quota: the file in which Linux says so: microseconds of time and of the period that they are for, or ``max``.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        time, period = map(int, quota.read_text().split())
        return max(1, min(bound, time // period))
    return bound
