"""A figure as the report and W&B show it."""

from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Illustration:
    """A figure, what it shows and how to read it."""

    key: str
    """Where W&B files it: experiment and name."""
    title: str
    caption: str
    drawing: Figure
