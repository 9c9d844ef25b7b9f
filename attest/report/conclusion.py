"""What a page of several runs begins with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Conclusion:
    """One thing that came out."""

    said: str
    """A plain sentence."""
    figures: str
    """The numbers that it was read from, and the test that decided its words."""
