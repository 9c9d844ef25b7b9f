"""What a reader must know before comparing numbers of several settings."""

from collections.abc import Sequence
from itertools import product

from attest.report.collection import Setting
from attest.report.described import label_of, newer
from attest.runs.same_texts import Texts, texts_of

Tested = dict[int, Texts]
"""The texts that each seed of a setting was tested on."""


def notes(settings: Sequence[Setting], keys: Sequence[str]) -> list[str]:
    """Sentences for under a table, or above it; empty where there is nothing to say.

    Args:
        settings: its columns.
        keys: of the numbers in its rows.
    """
    return [note for note in (other_texts(settings), other_orders(settings, keys)) if note]


def other_texts(settings: Sequence[Setting]) -> str | None:
    """That not all settings were tested on the same texts; None where they were, as far as is known."""
    groups: list[tuple[Tested, list[str]]] = []
    for setting in settings:
        tested = {seed: texts_of(run) for seed, run in setting.runs.items()}
        names = next((names for first, names in groups if not _differ(first, tested)), None)
        if names is None:
            groups.append((tested, names := []))
        names.append(setting.name)
    if len(groups) < 2:
        return None
    told = "; ".join(f"({number}) {', '.join(names)}" for number, (_, names) in enumerate(groups, start=1))
    return f"Not all settings were tested on the same texts: {told}. Numbers of different groups cannot be compared."


def _differ(first: Tested, second: Tested) -> bool:
    """Whether two settings are known to differ in their texts: seed by seed, or all of one from all of the other."""
    shared = first.keys() & second.keys()
    pairs = [(first[seed], second[seed]) for seed in shared] or list(product(first.values(), second.values()))
    differing = [one.same_as(other) is False for one, other in pairs]
    return any(differing) if shared else all(differing)


def other_orders(settings: Sequence[Setting], keys: Sequence[str]) -> str | None:
    """That orders of erasure were measured over different texts, as older runs have them; None where that is not so."""
    older = [key for key in keys if key.removesuffix("/mean") in newer()]
    if len(older) < 2:
        return None
    counts = [f"{each.name}: {' and '.join(_undefined(each, key) for key in older)}" for each in settings]
    return (
        f"{' and '.join(f'“{label_of(key)}”' for key in older)} are means over different texts, those that flip in the order, "
        f"and cannot be compared. Texts left out by each, by seed: {'; '.join(counts)}."
    )


def _undefined(setting: Setting, key: str) -> str:
    counts = [summary.get(f"{key}/nan") for _, summary in sorted(setting.summaries.items())]
    return ", ".join("–" if count is None else f"{count:.0f}" for count in counts)
