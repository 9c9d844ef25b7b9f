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
"""The ends of two keys in a summary, after the experiment's id: how many texts the experiment read before it stopped, and how
many there are."""
FIRST, GROWTH = 256, 1.25
"""The first: the number of texts that are read before the precision of the means is checked for the first time. The second:
the factor by which this number grows from check to check."""
MOST_READ = 0.75
"""An experiment may stop early only before this share of all texts is read; if its means are then still not precise enough, it
reads all texts."""
STEPS = 20
"""How fine the candidates for a mean are: the distance of two neighbouring candidates is the precision that the user asked
for, divided by this number."""


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
"""A function that takes ids of texts and ids of experiments and runs these experiments on these texts. It returns their rows,
gathered from all processes; the keys are the ids of the experiments."""


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
