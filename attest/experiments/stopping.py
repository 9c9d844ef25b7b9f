"""Evidence from as few texts as possible: reading stops when the means are precise enough.

Legend: K means, N texts.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from torch import Tensor

from attest.core.measures.betting import MeanByBetting
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.rows import joined
from attest.experiments.sampling import reading_order

READ, ALL = "texts_read/count", "texts/count"
"""The suffixes of two keys in a summary: for the number of texts that an experiment read before it stopped, and for the number
of all texts."""
FIRST, GROWTH = 256, 1.25
"""The number of texts that are read before the first check of the precision, and the factor by which this number grows from
check to check."""
MOST_READ = 0.75
"""The largest share of all texts after which an experiment may stop early; an experiment that needs more reads all texts."""
STEPS = 20
"""The precision that the user asks for, divided by the distance between two candidates for a mean."""


def looks(texts: int) -> list[int]:
    """Return the numbers of texts after which an experiment may stop early, in ascending order."""
    after, found = float(FIRST), []
    while after <= MOST_READ * texts:
        found.append(int(after))
        after *= GROWTH
    return found


class Stopping:
    """A rule that stops an experiment when the 95 % interval of every mean is at most ± ``precision`` wide.

    Args:
        experiment: the id of the experiment.
        precision: half the width of an interval, in the unit of its mean.
        texts: N, the number of all texts.
    """

    def __init__(self, experiment: str, precision: float, texts: int) -> None:
        self.spec, self.precision, self.texts = EXPERIMENTS[experiment], precision, texts
        self.names: list[str] = []
        self._sequence: MeanByBetting | None = None

    def after(self, rows: pd.DataFrame) -> bool:
        """Add further rows of the experiment's table, and return whether the experiment may stop."""
        if self._sequence is None:
            self._sequence = self._begun(rows)
        if not self.names:
            return False
        self._sequence.update(rows[self.names].astype(float).to_numpy())
        low, high = self._sequence.intervals.T
        return bool(((high - low) / 2 <= self.precision).all())

    def _begun(self, rows: pd.DataFrame) -> MeanByBetting:
        ranges = {each.name: each.range for each in self.spec.measures if each.name in rows and each.range is not None}
        known = {name: span for name, span in ranges.items() if np.isfinite(span).all()}
        self.names = list(known)
        low, high = np.array([*known.values()], dtype=float).reshape(-1, 2).T
        return MeanByBetting(low, high, self.texts, self.precision / STEPS)

    def found(self) -> dict[str, float]:
        """Return summary entries: the number of texts used, the number of all texts, and each mean's interval."""
        assert self._sequence is not None
        summary = {f"{self.spec.id}/{READ}": float(self._sequence.read), f"{self.spec.id}/{ALL}": float(self.texts)}
        for name, (low, high) in zip(self.names, self._sequence.intervals, strict=True):
            summary |= {f"{self.spec.id}/{name}/ci_low": float(low), f"{self.spec.id}/{name}/ci_high": float(high)}
        return summary


@dataclass(frozen=True)
class EarlyTable:
    """The table of an experiment that stopped early."""

    rule: Stopping
    rows: pd.DataFrame
    """One row for each text that was read, sorted by id."""


MeasureTexts = Callable[[list[int], Collection[str]], Mapping[str, pd.DataFrame]]
"""Takes ids of texts and of experiments; returns the rows of these texts, gathered from all processes, by the id of the
experiment."""


def read_until(
    precision: float, experiments: Collection[str], ids: Tensor, seed: int, measure: MeasureTexts
) -> dict[str, EarlyTable]:
    """Measure texts in random order until the means are precise; return the tables of experiments that ended early.

    An experiment that would need too many texts has no table here, and must be run on all texts.

    Args:
        precision: half the width of the intervals for the means, in their units.
        experiments: ids of experiments; none of them may draw its own sample of the texts.
        ids: int64 ``(N,)``, of all texts.
        measure: called with the next texts and the experiments that go on.
    """
    order: list[int] = reading_order(ids, seed).tolist()
    read = 0
    going = {name: Stopping(name, precision, len(order)) for name in experiments}
    parts: dict[str, list[pd.DataFrame]] = defaultdict(list)
    tables: dict[str, EarlyTable] = {}
    for after in looks(len(order)):
        if not going:
            break
        texts = order[read:after]
        found = measure(texts, tuple(going))
        for name in list(going):
            parts[name].append(found[name].set_index("id", drop=False).loc[texts].reset_index(drop=True))
            if going[name].after(parts[name][-1]):
                tables[name] = EarlyTable(going.pop(name), joined(parts[name]).sort_values("id", ignore_index=True))
        read = after
    return tables
