"""The sink: the first token, on which many decoders park attention, whatever it says (Xiao et al. 2024)."""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from attest.experiments.spec import Column, Measure

FIRST = 0
"""Its place in every text."""
WITHOUT = "_without_sink"
"""Ends the name of a column that sets the first token aside."""


def parks_attention(network: object) -> bool:
    """Return whether a network is a decoder, which may park much attention on the first token."""
    return getattr(network, "looks_back", False)


def without_sink(allowed: Tensor) -> Tensor:
    """Return the allowed places without that of the first token, bool ``(..., T)``."""
    kept = allowed.clone()
    kept[..., FIRST] = False
    return kept


LEFT_OUT = "over all tokens but the first"
SPARED = "the first token keeping what it has"
"""What is done with the first token."""


def columns_of_decoders(columns: Sequence[Column], first: str) -> tuple[Column, ...]:
    """Return copies of columns that are of decoders alone, where the first token is ``LEFT_OUT`` or ``SPARED``."""
    said = [each.means.removeprefix("decoders only: ").removeprefix("Transformers only: ") for each in columns]
    return tuple(
        replace(each, name=f"{each.name}{WITHOUT}", means=f"decoders only: {means}, {first}")
        for each, means in zip(columns, said, strict=True)
    )


def left_out(measure: Measure) -> Measure:
    """Return a copy of a measure that is of decoders alone, over all tokens but the first."""
    beside = measure.beside and (measure.beside[0], f"{measure.beside[1]}{WITHOUT}")
    return replace(_without(measure, LEFT_OUT), beside=beside)


def spared(measure: Measure) -> Measure:
    """Return a copy of a measure that is of decoders alone, where tampering leaves the first token its weight."""
    return _without(measure, SPARED)


def _without(measure: Measure, how: str) -> Measure:
    return replace(
        measure,
        column=f"{measure.column}{WITHOUT}",
        title=f"{measure.title}, without the first token",
        means=f"As “{measure.title}”, {how}. Decoders park much attention on it, whatever it says.",
        short=None,
    )
