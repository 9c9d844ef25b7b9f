"""The page of a base's adversaries: their table, their curve against the baselines, their knee.

What a sweep of adversaries says: what moves with λ, what that costs, and from where on it is more than a seed's doing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from attest.core.measures.numbers import percent, rounded
from attest.core.measures.summary import knee
from attest.experiments.registry import EXPERIMENTS
from attest.report.collection import Interval, over_texts
from attest.report.evidence_figures import divergence_against_distance
from attest.report.figures import Illustration
from attest.report.related_table import (
    DISTANCES,
    REPORT,
    SCORES,
    Conclusion,
    distances_of,
    exceeds,
    plain,
    scores_of,
    write_related_runs,
)
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.identity import identity_of

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


def write_sweep(base: RunFolder, sweep: str, runs: Sequence[RunFolder]) -> None:
    """Write ``adversarial/<sweep>.json`` and ``.html``, and print what the page says.

    Args:
        base: whose adversaries they are.
        sweep: what they have in common, ``unfrozen-kl``.
        runs: the finished adversaries.
    """
    rows = adversaries_of(runs)
    tagging = "nll" in rows
    at = knee(rows[gained(tagging)].to_numpy(), rows[cost(tagging)].to_numpy())
    rows["knee"] = [place == at for place in range(len(rows))]
    shown = baselines(base)
    folder = base.path / "adversarial"
    write_json(folder / f"{sweep}.json", {"adversaries": rows.to_dict("records"), "baselines": shown.to_dict("records")})
    figure = Illustration(
        f"E7/{sweep}",
        "E7  What a different attention costs",
        "One point an adversary, labelled with its λ where there is room: how differently it attends, and how far its "
        "predictions are from the base's (Wiegreffe & Pinter 2019, Fig. 5; Yang 2020, Fig. 1). Seeds (E5) are the noise "
        "floor; ringed: the knee, the point farthest below the chord.",
        partial(divergence_against_distance, rows, shown, cost(tagging), gained(tagging)),
    )
    summaries = [read_json(RunFolder(folder / name).summary) for name in rows["run"]]
    accuracy = read_json(base.summary).get("test/accuracy")
    found = Sweep(rows, summaries, gained(tagging), cost(tagging), _seeds(shown, gained(tagging)), accuracy)
    title = f"Adversaries of {identity_of(base)}: {sweep}"
    linked = rows.assign(**{REPORT: [RunFolder(folder / name).report for name in rows["run"]]}).drop(columns="run")
    tables = {"Adversaries": linked, "Compared with": shown}
    with RunFolder(folder).claimed():
        said = write_related_runs(folder / f"{sweep}.html", title, tables, [figure], found.conclusions())
    print(f"{said}\n\nSweep:      {folder / sweep}.html", flush=True)


def _seeds(shown: pd.DataFrame, column: str) -> list[float]:
    """How far other seeds lie from the base, where that was measured."""
    if column not in shown:
        return []
    return [float(value) for value in shown.loc[shown["experiment"] == "E5", column].dropna()]


def gained(tagging: bool) -> str:
    """What an adversary gains: Yang plots KL, Wiegreffe & Pinter JSD."""
    return "kl" if tagging else "jsd"


def cost(tagging: bool) -> str:
    """What it pays: negative log-likelihood of the base's tags, or total variation distance of the predictions."""
    return "nll" if tagging else "tvd"


def adversaries_of(runs: Sequence[RunFolder]) -> pd.DataFrame:
    """One row an adversary, by λ: ``run``, ``lambda``, test scores, and the means of E7's columns."""
    return pd.DataFrame([_row(run) for run in runs]).sort_values("lambda", ignore_index=True)


def _row(run: RunFolder) -> dict[str, Any]:
    lam = run.settings()["model"]["init_args"]["lam"]
    return {"run": run.path.name, "lambda": lam} | scores_of(run) | distances_of(run, "E7")


def baselines(base: RunFolder) -> pd.DataFrame:
    """What is known of the base without adversaries: E3 from its summary, E4 and E5 from its controls; maybe nothing."""
    rows = []
    known, controls = read_json(base.summary), base.path / "controls" / "summary.json"
    if "E3/jsd_exact/mean" in known:
        means = {name: known[f"E3/{name}_exact/mean"] for name in ("tvd", "jsd")}
        rows.append({"experiment": "E3", "name": "each text its own adversary"} | means)
    if controls.is_file():
        rows += [row for row in read_json(controls)["rows"] if row["experiment"] in ("E4", "E5")]
    found = pd.DataFrame(rows)
    return found[[name for name in ("experiment", "name", *SCORES, *DISTANCES) if name in found]]
