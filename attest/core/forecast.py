"""The forecast of how long work goes on, judged by its batches so far."""

import math
import time

from attest.core.measures.numbers import duration

SECONDS, BATCHES = 10, 5
"""The seconds and batches after which work is judged; nothing is told if fewer seconds than these are left."""
AGAIN = 30
"""The seconds between two forecasts."""


class Forecast:
    """A forecast of the remaining time of some work, which begins when the forecast is made.

    Args:
        least: the number of batches that must be finished before.
        renewed: whether it is told every half minute; otherwise once.
    """

    def __init__(self, least: int = BATCHES, renewed: bool = True) -> None:
        self.batches, self._least, self._renewed = 0, least, renewed
        self._started, self._next = time.perf_counter(), float(SECONDS)

    def due(self) -> bool:
        """Count a finished batch, and return whether the remaining time can be told now."""
        self.batches += 1
        due = self.batches >= self._least and self.seconds >= self._next
        if due:
            self._next = self.seconds + AGAIN if self._renewed else math.inf
        return due

    @property
    def seconds(self) -> float:
        """The seconds since the work began."""
        return time.perf_counter() - self._started

    def remaining(self, seconds: float) -> str | None:
        """Return the remaining seconds in words; None if only a few are left."""
        if seconds < SECONDS:
            return None
        judged = "batch" if self.batches == 1 else f"{self.batches} batches"
        return f"about {duration(seconds)}, judging by the first {judged}"
