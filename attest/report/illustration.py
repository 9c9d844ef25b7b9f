"""A figure as the report and W&B show it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Illustration:
    """A figure, what it shows and how to read it; drawn when it is first looked at, as many ask for its name alone."""

    key: str
    """Where W&B files it: experiment and name."""
    title: str
    caption: str
    draw: Callable[[], "Figure"]

    @cached_property
    def drawing(self) -> "Figure":
        """The figure, the same object every time."""
        return self.draw()
