"""Places: where attention computes in the open, so that somebody can look or put another value there.

A module that attends passes its keys, scores, projection and weights through ``at``, which as a rule hands back what it was
given. ``attest.attention.interventions`` is the one that changes the rule.
"""

from collections.abc import Callable
from typing import Any, Literal

from torch import Tensor, nn

Place = Literal["keys", "scores", "weights", "projection"]
Replacement = Callable[[Any, Tensor], Any]
"""Takes what was computed at a place, and the mask ``(B, T)``, to what stands there instead."""


class Interceptable(nn.Module):
    """A module that attends, with named places. It has no parameters of its own."""

    heads: int | None = None
    """Number of heads, which are then the second dimension of keys, scores and weights; None where there are no heads."""

    def __init__(self) -> None:
        super().__init__()
        self.replacements: tuple[tuple[Place, Replacement], ...] = ()
        """In force now, outermost first; kept by ``attest.attention.interventions``, empty otherwise."""

    def at(self, place: Place, value: Any, mask: Tensor) -> Any:
        """What goes on from a place: what was computed there, unless an intervention replaces it."""
        for where, replacement in self.replacements:
            if where == place:
                value = replacement(value, mask)
        return value
