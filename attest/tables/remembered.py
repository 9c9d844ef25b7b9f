"""Names of runs that were resolved before, so that the second plan of a table is quick.

A name depends on what was typed, and is kept only where nothing else was typed: no file, no class from elsewhere.
"""

from collections.abc import Sequence

from attest.runs.remembered import Remembered
from attest.runs.words import OURS

Name = tuple[str, str, str]
"""Corpus, name of the setting and seed: what a run's folder is called below the root of all runs."""


class RememberedNames:
    """What was typed after ``attest fit`` to the name of the run."""

    def __init__(self) -> None:
        self._names = Remembered("names.json")

    def __getitem__(self, arguments: Sequence[str]) -> Name | None:
        typed = " ".join(arguments)
        if typed not in self._names:
            return None
        data, name, seed = self._names[typed]
        return data, name, seed

    def __setitem__(self, arguments: Sequence[str], name: Name) -> None:
        if all(OURS.fullmatch(argument) for argument in arguments):
            self._names[" ".join(arguments)] = name

    def keep(self) -> None:
        """Remember for other plans."""
        self._names.keep()
