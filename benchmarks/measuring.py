"""What a piece of work costs: CPU seconds of this process and peak memory above where it began."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work returns, and its CPU seconds."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


@dataclass
class Cost:
    """The cost of work, which adds up over batches."""

    seconds: float = 0.0
    """Of CPU time: on a machine with other work it says more than the clock, and with one thread it is the same."""
    peak: int = 0
    """Bytes above the resident memory at the beginning, in the batches watched; 0 where the system does not tell."""

    def of(self, work: Callable[[], Any], *, memory: bool = False) -> Any:
        """Do the work and add what it cost.

        Args:
            work: to be done once.
            memory: also watch its peak, which takes all free memory back first and so makes the work slower.
        """
        with _peak_memory() if memory else nullcontext([0]) as peak:
            result, seconds = timed(work)
            self.seconds += seconds
        self.peak = max(self.peak, peak[0])
        return result


@contextmanager
def _peak_memory() -> Iterator[list[int]]:
    peak = [0]
    if not STATUS.is_file():
        yield peak
        return
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # Linux: begin the high-water mark anew
    before = _status("VmRSS")
    yield peak
    peak[0] = max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
