"""One number out of a run's summary."""

import math
from collections.abc import Mapping
from typing import Any


def value_of(summary: Mapping[str, Any], key: str) -> float | None:
    """A score itself, or the mean of evidence; None where there is none."""
    value = summary.get(key, summary.get(f"{key}/mean"))
    return None if value is None or math.isnan(value) else float(value)
