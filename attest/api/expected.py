"""An estimate of the time of a trial, printed once after its first batches."""

import time

from rich.console import Console

from attest.api.batches import Batch
from attest.runs.forecast import duration

SECONDS, SHARE = 5, 0.05
"""What has to be over before a word is said, in seconds and as a share of the work."""
WORTH_SAYING = 20
"""Seconds that nobody needs to be told of."""
GROWTH = 1.5
"""Cost of a text of T tokens grows as T to this power: some experiments read a text once, some once for every token."""


def work_of(batch: Batch) -> float:
    """What a batch costs, beside other batches."""
    rows, longest = batch["mask"].shape[:2]
    return rows * longest**GROWTH


class Expected:
    """Tells how long all batches will take.

    Args:
        work: of all batches.
        console: where it is said; None for nowhere.
    """

    def __init__(self, work: float, console: Console | None) -> None:
        self._work, self._console = work, console
        self._started = time.perf_counter()

    def after(self, done: float) -> None:
        """Say it if it is known by now.

        Args:
            done: work that is over, of all processes.
        """
        spent = time.perf_counter() - self._started
        if self._console is None or spent < SECONDS or done < SHARE * self._work:
            return
        if (seconds := spent / done * self._work) >= WORTH_SAYING:
            self._console.print(f"All texts will take about {duration(seconds)}, judging by the first ones.")
        self._console = None
