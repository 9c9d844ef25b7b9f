"""Names with numbers in them, in the order of the numbers: ``entmax-1.3`` before ``entmax-1.25e1``."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
"""λ and the like, as names of runs have them: 3, 0.001, 1e-05."""
VARIANT = re.compile(r"-[0-9a-f]{8}(?=/|$)")
"""Hexadecimal digits that tell a run from others of its name; they are no number."""
Named = TypeVar("Named")


def in_order(items: Sequence[Named], name: Callable[[Named], str]) -> list[Named]:
    """The same items, those of a sweep by their numbers.

    Names that differ in numbers alone are a sweep. Its items share the places among themselves that they have; all others
    stay where they are.

    Args:
        items: in any order.
        name: of an item.
    """
    sweeps: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        sweeps.setdefault(NUMBER.sub("#", _bare(name(item))), []).append(place)
    ordered = list(items)
    for places in sweeps.values():
        chosen = sorted((items[place] for place in places), key=lambda item: _numbers(name(item)))
        for place, item in zip(places, chosen, strict=True):
            ordered[place] = item
    return ordered


def _numbers(name: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(_bare(name))]


def _bare(name: str) -> str:
    return VARIANT.sub("", name)
