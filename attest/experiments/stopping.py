"""Evidence on no more texts than needed: in random order, until the means are precise enough.

Legend: K means, N texts.
"""

import numpy as np
import pandas as pd
from torch import Tensor

from attest.core.measures.betting import MeanByBetting
from attest.core.randomness import random_bits, stream
from attest.experiments.registry import EXPERIMENTS

READ, ALL = "texts_read/count", "texts/count"
"""How a summary names the number of texts that an experiment read before it stopped, and the number of all texts."""
FIRST, GROWTH = 256, 1.25
"""Texts that are read before the first look, and how much further they go from look to look."""
MOST_READ = 0.75
"""Share of all texts beyond which the rest is not worth leaving out: the whole evidence is gathered then."""
STEPS = 20
"""Candidates for a mean within the precision that is asked for."""
SAMPLING = ("E3", "E10", "E14", "E15")
"""Experiments that read a sample of their own in a trial. A run's E3 reads all texts."""


def looks(texts: int) -> list[int]:
    """After how many texts it is looked whether to stop; a fixed rule, whatever is found."""
    after, found = float(FIRST), []
    while after <= MOST_READ * texts:
        found.append(int(after))
        after *= GROWTH
    return found


def in_random_order(ids: Tensor, seed: int) -> list[int]:
    """The ids of all texts, int64 ``(N,)``, in the order of a keyed hash."""
    return ids[random_bits(stream(seed, "order of the texts"), ids).argsort()].tolist()


class Stopping:
    """When to stop: every mean that the report shows of an experiment is known to ± ``precision`` at 95 %.

    Args:
        experiment: its id.
        precision: in units of the numbers.
        texts: N.
    """

    def __init__(self, experiment: str, precision: float, texts: int) -> None:
        self.spec, self.precision, self.texts = EXPERIMENTS[experiment], precision, texts
        self.names: list[str] = []
        self._sequence: MeanByBetting | None = None

    def after(self, rows: pd.DataFrame) -> bool:
        """Whether to stop after further texts.

        Args:
            rows: of the experiment's table, in the order of reading.
        """
        if self._sequence is None:
            self._begin(rows)
        assert self._sequence is not None
        if not self.names:
            return False
        self._sequence.update(rows[self.names].astype(float).to_numpy())
        low, high = self._sequence.intervals.T
        return bool(((high - low) / 2 <= self.precision).all())

    def _begin(self, rows: pd.DataFrame) -> None:
        """The means asked for: those of the verdict, as far as they have a range."""
        ranges = {measure.column: column.range for measure in self.spec.measures
                  if measure.column in rows and (column := self.spec.column(measure.column)) is not None}  # fmt: skip
        known = {name: span for name, span in ranges.items() if span is not None and np.isfinite(span).all()}
        self.names = list(known)
        low, high = np.array([*known.values()], dtype=float).reshape(-1, 2).T
        self._sequence = MeanByBetting(low, high, self.texts, self.precision / STEPS)

    def found(self) -> dict[str, float]:
        """Return what a summary says: how many of how many texts were read, and the interval of each mean."""
        assert self._sequence is not None
        summary = {f"{self.spec.id}/{READ}": float(self._sequence.read), f"{self.spec.id}/{ALL}": float(self.texts)}
        for name, (low, high) in zip(self.names, self._sequence.intervals, strict=True):
            summary |= {f"{self.spec.id}/{name}/ci_low": float(low), f"{self.spec.id}/{name}/ci_high": float(high)}
        return summary
