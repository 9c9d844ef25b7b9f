"""Measuring a part of a batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.experiments.observation import Observation

Columns = dict[str, Tensor]


def on_part(measure: Callable[[Observation], Columns], observation: Observation, chosen: Tensor) -> Columns:
    """The columns ``(B,)`` of some texts, bool ``chosen (B,)``, among NaN for the others; the same columns of none."""
    if chosen.all():
        return measure(observation)
    rows = chosen.nonzero().flatten()
    some = rows if len(rows) else torch.zeros(1, dtype=torch.int64, device=chosen.device)
    measured = measure(observation.part(some))
    columns = {name: column.new_full((len(chosen),), torch.nan) for name, column in measured.items()}
    for name, column in measured.items():
        columns[name][rows] = column[: len(rows)]
    return columns
