"""Settings compared text by text: every two with the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from attest.measures import Paired
from attest.report.collection import Setting
from attest.report.pairing import Decided, paired


@dataclass(frozen=True)
class Decision:
    """Two settings with the same seed, text by text."""

    pair: tuple[str, str]
    seed: int
    same: bool | None
    """Whether both were tested on the same texts; None where their folders do not tell."""
    test: Paired | None
    """None where the texts are not the same, or were not kept."""
    instances: int
    tagging: bool


def decisions(settings: Sequence[Setting]) -> list[Decision]:
    """The paired test of every two settings, for every seed that both have."""
    compared, decided = [], cache(Decided.by)
    for first, second in combinations(settings, 2):
        for seed in sorted({*first.runs} & {*second.runs}):
            pair = paired(decided(first.runs[seed]), decided(second.runs[seed]))
            names = first.name, second.name
            compared.append(Decision(names, seed, pair.same, pair.test, pair.instances, pair.tagging))
    return compared
