"""The means of a run's numbers, for the sentences that answer an experiment's question."""

import math
from typing import Any


class Means:
    """Means over the test texts, by key.

    Args:
        summary: numbers of a run, as in ``summary.json``.
        instances: test texts; None where that is not known.
    """

    def __init__(self, summary: dict[str, Any], instances: int | None) -> None:
        self.summary, self.instances = summary, instances

    def __call__(self, key: str) -> float | None:
        """The mean of a column, ``E1/tau_gradient_inputs``; None where it was not measured or is undefined."""
        value = self.summary.get(f"{key}/mean")
        return None if value is None or math.isnan(value) else float(value)

    def __contains__(self, key: str) -> bool:
        """Whether it was measured, defined or not."""
        return f"{key}/nan" in self.summary

    def defined(self, key: str) -> int | None:
        """On how many of the texts a measure is defined."""
        return None if self.instances is None else self.instances - int(self.summary[f"{key}/nan"])
