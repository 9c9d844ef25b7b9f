"""The forecast of how long work goes on, judged by its first batches."""

import time

from attest.core.measures.numbers import duration

SECONDS, BATCHES = 10, 5
"""The seconds and batches after which work is judged; nothing is told if fewer seconds than these are left."""


class Forecast:
    """A forecast of the remaining time of some work, which begins when the forecast is made; it is told once.

    Args:
        least: the number of batches that must be finished before.
    """

    def __init__(self, least: int = BATCHES) -> None:
        self.batches, self._least = 0, least
        self._started, self._told = time.perf_counter(), False

    def due(self) -> bool:
        """Count a finished batch, and return whether the remaining time can be told now."""
        self.batches += 1
        return not self._told and self.batches >= self._least and self.seconds >= SECONDS

    @property
    def seconds(self) -> float:
        """The seconds since the work began."""
        return time.perf_counter() - self._started

    def remaining(self, seconds: float) -> str | None:
        """Return the remaining seconds in words; None if only a few are left."""
        self._told = True
        if seconds < SECONDS:
            return None
        judged = "batch" if self.batches == 1 else f"{self.batches} batches"
        return f"about {duration(seconds)}, judging by the first {judged}"
