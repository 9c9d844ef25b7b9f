"""A figure as the report and W&B show it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawn_by(function: str, *data: Any) -> Callable[[], "Figure"]:
    """Draws with a function of this folder, whose file, and matplotlib with it, is imported when a figure is drawn.

    Args:
        function: its file and name: ``figures.learning_curves``.
        data: what it takes.
    """
    return partial(_drawn, *function.split("."), *data)


def _drawn(file: str, name: str, *data: Any) -> "Figure":
    return cast("Figure", getattr(import_module(f"attest.report.{file}"), name)(*data))


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
