"""Recursive ROAR on a page: the curve of each reading, and what it gains on random erasure."""

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from attest.core.measures.numbers import rounded
from attest.core.measures.summary import area_between, racu
from attest.experiments.readings.kinds import READINGS
from attest.report.figures import Illustration
from attest.report.related_table import Conclusion, exceeds, write_related_runs
from attest.runs.choices import RANDOM
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.identity import ROAR, identity_of

SCORE = "accuracy"
Curves = Mapping[str, Sequence[tuple[float, RunFolder]]]
"""Share erased and run, by reading; ``random`` among them."""


def write_roar(base: RunFolder, curves: Curves) -> None:
    """Write ``roar/summary.json`` and ``roar/report.html`` into the base's folder, and print what the page says.

    Args:
        base: the run on trial.
        curves: finished runs, each curve at the same shares.
    """
    folder = RunFolder(base.path / ROAR)
    shares = [share for share, _ in curves[RANDOM]]
    scores = {name: [read_json(run.summary)[f"test/{SCORE}"] for _, run in curve] for name, curve in curves.items()}
    areas = pd.DataFrame([_areas(name, shares, scores) for name in scores if name != RANDOM])
    steps = pd.DataFrame({"share erased": shares} | {READINGS[name].title: values for name, values in scores.items()})
    measured = {f"{name}/{share:g}": value for name in scores for share, value in zip(shares, scores[name], strict=True)}
    measured |= {f"{row['reading']}/{key}": row[key] for row in areas.to_dict("records") for key in ("area", "RACU")}
    write_json(folder.summary, {"version": 1} | measured)
    shown = areas.assign(reading=[READINGS[name].title for name in areas["reading"]])
    title = f"Recursive ROAR of {identity_of(base)}"
    tables = {"Gain on random": shown, "Accuracy": steps}
    with folder.claimed():
        said = write_related_runs(folder.report, title, tables, [_figure(shares, scores)], [_concluded(shown)])
    print(f"{said}\n\nROAR:       {folder.report}", flush=True)


def _areas(name: str, shares: Sequence[float], scores: Mapping[str, Sequence[float]]) -> dict[str, str | float]:
    random, explained = scores[RANDOM], scores[name]
    return {"reading": name, "area": area_between(shares, random, explained), "RACU": racu(shares, random, explained)}


def _concluded(areas: pd.DataFrame) -> Conclusion:
    """Of the reading that gains most; in words only what shows in the number as it is written."""
    best = areas.loc[areas["area"].idxmax()]
    who = best["reading"] if exceeds(best["area"], 0.0) else "No reading"
    largest = f"The largest area to random erasure is {rounded(best['area'])} ({best['reading']})."
    untested = "Each point is one model, so this is not tested against what another seed does."
    return Conclusion(f"{who} makes accuracy fall faster than random erasure does.", f"{largest} {untested}")


def _figure(shares: Sequence[float], scores: Mapping[str, Sequence[float]]) -> Illustration:
    return Illustration(
        "roar/curves",
        "Accuracy of models trained anew on texts without what was ranked first",
        "After each step the new model is read, and says what goes next (Madsen et al. 2022). A reading that finds what "
        "matters falls faster than random erasure; RACU is the area between, of the largest there could be. Every point is "
        "another model, trained on what is left, so this speaks of readings on this task, not of one model alone.",
        partial(roar_curves, shares, scores),
    )


def roar_curves(shares: Sequence[float], scores: Mapping[str, Sequence[float]]) -> Figure:
    """One line a reading.

    Args:
        shares: of tokens erased.
        scores: as many of each reading.
    """
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, values in scores.items():
        colour, style = ("#999999", "--") if name == RANDOM else (None, "-")
        axes.plot(shares, values, style, marker="o", markersize=4, color=colour, label=READINGS[name].title)
    axes.set_xlabel("share of tokens erased")
    axes.set_ylabel(f"test {SCORE}")
    axes.legend(fontsize=8)
    return figure
