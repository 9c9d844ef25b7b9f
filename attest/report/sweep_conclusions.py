"""What a sweep of adversaries says: what moves with λ, what that costs, and from where on it is more than a seed's doing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from attest.experiments.registry import EXPERIMENTS
from attest.measures.numbers import percent, rounded
from attest.report.conclusion import Conclusion
from attest.report.intervals import Interval, over_texts
from attest.report.related_table import exceeds, plain

FARTHER = {1: "moves away from", 0: "moves no farther from", -1: "comes nearer to"}
"""What is said of a number by whether its interval lies higher at the end of the sweep, overlaps, or lies lower."""


@dataclass(frozen=True)
class Sweep:
    """Two adversaries or more of one base, by λ."""

    rows: pd.DataFrame
    """One an adversary: ``lambda``, ``knee``, and the two columns below."""
    summaries: Sequence[Mapping[str, Any]]
    """Of the same runs, in the same order."""
    gained: str
    """The column that says how differently an adversary attends."""
    cost: str
    """The column that says what it pays for that."""
    seeds: Sequence[float] = ()
    """How far other seeds lie from the base, in the column ``gained``."""
    base: float | None = None
    """The accuracy of the base; None where it has none."""

    def conclusions(self) -> list[Conclusion]:
        """The change over the sweep, its price, the noise floor where it is known, and the knee."""
        return [self._moved(), self._paid(), *self._beyond_seeds(), self._bend()]

    def _moved(self) -> Conclusion:
        said = f"As λ grows from {plain(self._lambdas[0])} to {plain(self._lambdas[-1])}, the adversaries' attention"
        return Conclusion(f"{said} {FARTHER[self._change(self.gained)]} the base's.", f"{self._from_to(self.gained)}.")

    def _paid(self) -> Conclusion:
        does = FARTHER[self._change(self.cost)].replace("moves", "move").replace("comes", "come")
        return Conclusion(f"Their predictions {does} the base's.", f"{self._from_to(self.cost)}{self._accuracy()}.")

    def _accuracy(self) -> str:
        scores = [summary["test/accuracy"] for summary in self.summaries if summary.get("test/accuracy") is not None]
        theirs = "" if self.base is None else f", the base's {percent(self.base, 1)}"
        return f"; accuracy is {percent(min(scores), 1)} to {percent(max(scores), 1)}{theirs}" if scores else ""

    def _beyond_seeds(self) -> Iterator[Conclusion]:
        """Beyond is farther from the base than every other seed."""
        if self.seeds:
            where = _where(self._lambdas, [exceeds(value, max(self.seeds)) for value in self.rows[self.gained]])
            farthest = f"{self.gained.upper()} {rounded(max(self.seeds))}{_unit(self.gained)}"
            farther = f"farther from the base's than any other seed's {where}" if where else "no farther than another seed's"
            said = f"Their attention lies {farther}."
            yield Conclusion(said, f"The farthest of {len(self.seeds)} seeds lies at {farthest}.")

    def _bend(self) -> Conclusion:
        bend = self.rows[self.rows["knee"]]
        if bend.empty:
            return Conclusion("No λ stands out.", "The curve of cost against gain has no knee.")
        at = bend.iloc[0]
        stands = " for ".join(f"{name.upper()} {rounded(at[name])}{_unit(name)}" for name in (self.gained, self.cost))
        return Conclusion(f"The curve has its knee at λ = {plain(at['lambda'])}.", f"There an adversary has {stands}.")

    @property
    def _lambdas(self) -> list[float]:
        return [float(each) for each in self.rows["lambda"]]

    def _change(self, column: str) -> int:
        """Whether a number is larger at the end, by intervals that do not overlap."""
        found = self._intervals(column)
        return 0 if found is None else found[-1].apart(found[0])

    def _from_to(self, column: str) -> str:
        found = self._intervals(column)
        ends = [rounded(self.rows[column].iloc[place]) if found is None else str(found[place]) for place in (0, -1)]
        said = f"{column.upper()} goes from {ends[0]} to {ends[1]}{_unit(column)}"
        if found is None or not (between := max(found)).apart(found[-1]) or not between.apart(found[0]):
            return said
        return f"{said}; in between it reaches {between} at λ = {plain(self._lambdas[found.index(between)])}"

    def _intervals(self, column: str) -> list[Interval] | None:
        """One an adversary; None where one has none."""
        found = [over_texts(summary, f"E7/{column}") for summary in self.summaries]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None


def _where(lambdas: Sequence[float], chosen: Sequence[bool]) -> str:
    """Which λ are chosen, in words; empty where none is."""
    if all(chosen):
        return "at every λ"
    if not any(chosen):
        return ""
    if list(chosen) == sorted(chosen):
        return f"from λ = {plain(lambdas[chosen.index(True)])} on"
    return f"at λ = {', '.join(plain(each) for each, is_so in zip(lambdas, chosen, strict=True) if is_so)}"


def _unit(column: str) -> str:
    described = EXPERIMENTS["E7"].column(column)
    return f" {described.unit}" if described is not None and described.unit else ""
