"""What numbers are called, as a table needs it: remembered, so that it waits for no library that computes them."""

from functools import cache
from typing import NamedTuple

from attest.runs.remembered import Remembered

ALL = "all"


class Titles(NamedTuple):
    """Of every number that has a description."""

    labels: dict[str, str]
    """What it is called where it stands alone, by key in the order of the report."""
    newer: dict[str, str]
    """Numbers that are shown of older runs alone, and what newer ones have in their place; by key."""


@cache
def titles() -> Titles:
    """As the experiments have them, which are asked once."""
    remembered = Remembered("titles.json")
    if ALL not in remembered:
        from attest.report.described import SCORES, described, newer  # PyTorch comes with the experiments

        named = {key: (key.split("/")[0], measure.title) for key, measure in described().items()}
        labels = {key: title if key in SCORES else f"{experiment} {title}" for key, (experiment, title) in named.items()}
        remembered[ALL] = (labels, newer())
        remembered.keep()
    return Titles(*remembered[ALL])


def label_of(key: str) -> str:
    """What a number is called where it stands alone: ``E2 decisions flipped``; its key where it has no description."""
    return titles().labels.get(key, key)
