"""Measure a part of a batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.experiments.observation import Observation

Columns = dict[str, Tensor]


def on_part(measure: Callable[[Observation], Columns], observation: Observation, chosen: Tensor) -> Columns:
    """The columns ``(B,)`` of some texts, bool ``chosen (B,)``, among NaN for the others; no columns where none is chosen.

    Tables put batches below one another, and what a batch lacks is NaN there.
    """
    if chosen.all():
        return measure(observation)
    rows = chosen.nonzero().flatten()
    if not len(rows):
        return {}
    measured = measure(observation.part(rows))
    columns = {name: column.new_full((len(chosen),), torch.nan) for name, column in measured.items()}
    for name, column in measured.items():
        columns[name][rows] = column
    return columns
