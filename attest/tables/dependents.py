"""Runs that depend on a base run: the command of each, and its place in the base run's folder.

They are carried out by ``attest adversarial``, ``attest controls`` and ``attest keys``; their folders are named there.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attest.runs.adversary_names import Choices, named
from attest.runs.identity import ADVERSARIAL, GUIDES, KEYS

Dependent = tuple[Path, tuple[str, ...]]


def dependent_run(folder: Path, typed: Sequence[str], then: Mapping[str, str]) -> Dependent:
    """The run that a row's ``then`` asks for.

    Args:
        folder: of the base run.
        typed: what followed ``attest fit`` there, and so says what the base is.
        then: ``command`` and its choices.
    """
    command, choices = then["command"], [f"{name}={value}" for name, value in then.items() if name != "command"]
    return folder / PLACES[command](then), (command, *typed, *choices)


def what_comes_before(then: Mapping[str, str]) -> list[dict[str, str]]:
    """The dependent runs that this one needs beside the base: the adversary whose attention guides."""
    if then["command"] != "controls" or then["GUIDE"] == "base":
        return []
    choices, lam = named(then["GUIDE"])
    chosen = {"VARIANT": choices.variant, "DIVERGENCE": choices.divergence, "LAMBDA": f"{lam:g}"}
    return [{"command": "adversarial", **chosen}]


def _adversarial(then: Mapping[str, str]) -> Path:
    return Path(ADVERSARIAL, Choices(None, then["VARIANT"], then["DIVERGENCE"]).name(float(then["LAMBDA"])))


def _controls(then: Mapping[str, str]) -> Path:
    return Path(GUIDES, then["GUIDE"])


def _keys(then: Mapping[str, str]) -> Path:
    return Path(KEYS, then["ATTACK"])


PLACES: dict[str, Callable[[Mapping[str, str]], Path]] = {
    "adversarial": _adversarial,
    "controls": _controls,
    "keys": _keys,
}
"""By command, the folder inside the base's; see ``attest.runs.dependent``."""
