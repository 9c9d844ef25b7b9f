"""What settings differ in: their choices first, and where choices are the same, single settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attest.report.collection import Setting
from attest.runs.asked import identity
from attest.runs.identity import identity_of

CHOICES = {"data": "corpus", "recipe": "recipe", "model": "model", "scoring": "scoring", "projection": "projection"}
"""As they are stored, and as a reader knows them."""
DEPENDS = "trained against the base"
NOT_SET = "not set"
MEASURED = "experiments."
"""Settings of experiments are told where all have run them: what one has not measured is a gap, no other setting."""
Differing = dict[str, list[str]]
"""Values in the order of first appearance, by name."""


def choices_apart(settings: Sequence[Setting]) -> Differing:
    """The choices that are not the same for all."""
    return _apart([_choices(setting) for setting in settings])


def settings_apart(settings: Sequence[Setting]) -> Differing:
    """The single settings, by dotted name, that tell apart those whose choices are the same."""
    alike: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        alike.setdefault(tuple(_choices(setting).values()), []).append(setting)
    found: Differing = {}
    for several in alike.values():
        for name, values in _apart([_single(setting) for setting in several]).items():
            if not (name.startswith(MEASURED) and NOT_SET in values):
                found[name] = list(dict.fromkeys([*found.get(name, []), *values]))
    return found


def _choices(setting: Setting) -> dict[str, str]:
    run = _config(setting).get("run") or {}
    depends = identity_of(_any_run(setting)).dependent
    return {word: str(run.get(name, NOT_SET)) for name, word in CHOICES.items()} | {DEPENDS: depends or "no"}


def _single(setting: Setting) -> dict[str, str]:
    settings = _config(setting)
    rest = identity(settings) | {"experiments": settings.get("experiments")}
    rest.pop("run", None)  # which the choices say
    return dict(_flat(rest))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def _apart(described: Sequence[Mapping[str, str]]) -> Differing:
    names = dict.fromkeys(name for each in described for name in each)
    values = {name: list(dict.fromkeys(each.get(name, NOT_SET) for each in described)) for name in names}
    inner = {name for name in names if any(other.startswith(f"{name}.") for other in names)}
    return {name: several for name, several in values.items() if len(several) > 1 and name not in inner}


def _config(setting: Setting) -> dict[str, Any]:
    return _any_run(setting).settings()


def _any_run(setting: Setting) -> Any:
    return next(iter(setting.runs.values()))
