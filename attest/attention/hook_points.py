"""Hook points: named places in the computation of attention where a value can be read or replaced.

A module that attends passes its keys, values, scores, projection and weights through ``hook``, which returns them unchanged
unless an intervention of ``attest.attention.interventions`` is in force.
"""

from collections.abc import Callable
from typing import Any, Literal

from torch import Tensor, nn

HookPoint = Literal["keys", "values", "edges", "scores", "weights", "projection"]
Replacement = Callable[[Any, Tensor], Any]
"""Takes what was computed at a place, and the mask ``(B, T)``, to what stands there instead."""


class HookedModule(nn.Module):
    """A module that attends, with named places. It has no parameters of its own."""

    heads: int | None = None
    """Number of heads, which are then the second dimension of keys, scores and weights; None where there are no heads."""

    def __init__(self) -> None:
        super().__init__()
        self.replacements: tuple[tuple[HookPoint, Replacement], ...] = ()
        """In force now, outermost first; kept by ``attest.attention.interventions``, empty otherwise."""

    def hook(self, point: HookPoint, value: Any, mask: Tensor) -> Any:
        """What goes on from a place: what was computed there, unless an intervention replaces it."""
        for where, replacement in self.replacements:
            if where == point:
                value = replacement(value, mask)
        return value

    def given(self, point: HookPoint, shape: tuple[int, ...]) -> Any | None:
        """The constant of this shape that stands at a place whatever is computed there; None where it has to be computed.

        It is computed after all where another place is hooked: what passes there may be recorded.
        """
        first = self.replacements[0][1] if self.replacements else None
        constant = getattr(first, "constant", None)
        alone = all(where == point for where, _ in self.replacements)
        return constant if alone and constant is not None and constant.shape == shape else None
