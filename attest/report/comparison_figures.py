"""Figures of how runs differ from their base: pure functions of their tables."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.report.class_names import most_predicted
from attest.report.figures import ATTENTION_BINS, CLASS_COLOURS, _panel_per_class, _violins, name_rows
from attest.report.related_table import HEADINGS

LARGEST_JSD = float(np.log(2))
BESIDE = 0.1
"""Share of the extent of both axes within which two labels would overlap."""
MARKS = {"E3": "*", "E4": "s", "E5": "x"}


def divergence_against_distance(adversaries: pd.DataFrame, baselines: pd.DataFrame, cost: str, gained: str) -> Figure:
    """Wiegreffe & Pinter's Figure 5 and Yang's Figure 1: what adversaries gain in attention, and what it costs them.

    Args:
        adversaries: ``lambda``, ``knee`` (True at one at most) and the two columns of each, by λ.
        baselines: ``experiment``, ``name`` and, where known, the two columns; may be empty.
        cost, gained: the columns drawn along x and y; keys of ``HEADINGS``.
    """
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(adversaries[cost], adversaries[gained], "o-", markersize=5, color=CLASS_COLOURS[1], label="adversaries (E7)")
    points = adversaries[[cost, gained]].to_numpy(float)
    for lam, (x, y) in zip(adversaries["lambda"][_with_room(points)], points[_with_room(points)], strict=True):
        axes.annotate(f"{lam:g}", (x, y), textcoords="offset points", xytext=(6, -10), fontsize=7)
    bend = adversaries[adversaries["knee"]]
    label = "knee" if len(bend) else None
    axes.plot(bend[cost], bend[gained], "o", markersize=13, mfc="none", mec=CLASS_COLOURS[4], label=label)
    known = baselines.dropna(subset=[cost, gained]) if {cost, gained} <= {*baselines.columns} else baselines.iloc[:0]
    for colour, (experiment, several) in zip(CLASS_COLOURS[2:], _by_experiment(known), strict=False):
        label = f"{experiment}, {several['name'].iloc[0] if len(several) == 1 else f'{len(several)} other seeds'}"
        axes.plot(several[cost], several[gained], MARKS[experiment], markersize=8, color=colour, label=label)
    axes.set_xlabel(HEADINGS[cost])
    axes.set_ylabel(HEADINGS[gained])
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8)
    return figure


def _by_experiment(baselines: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    if len(baselines):
        yield from baselines.groupby("experiment")


def _with_room(points: np.ndarray) -> np.ndarray:
    """Which points can be labelled, bool ``(N,)``: the first, and each that is not beside one that is.

    Args:
        points: ``(N, 2)``.
    """
    extent = np.ptp(points, axis=0)
    scaled = points / np.where(extent > 0, extent, 1)
    chosen: list[int] = []
    for place, point in enumerate(scaled):
        if all(np.abs(point - scaled[other]).max() > BESIDE for other in chosen):
            chosen.append(place)
    return np.isin(np.arange(len(points)), chosen)


def divergence_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Wiegreffe & Pinter's Figure 3: JSD to the base by its largest weight, one panel a predicted class.

    Args:
        rows: ``jsd``, ``max_attention`` and ``predicted`` of each instance; of taggers ``jsd_matched`` in its place, and
            one panel, as nothing is ``predicted``.
        class_names: in class order.
    """
    rows, names = most_predicted(rows, class_names) if "predicted" in rows else (rows, ["all"])
    classes = rows["predicted"].to_numpy() if "predicted" in rows else np.zeros(len(rows), int)
    figure, panels = _panel_per_class(names, "JSD to the base's attention")
    bins = np.clip((rows["max_attention"].to_numpy() * len(ATTENTION_BINS)).astype(int), 0, len(ATTENTION_BINS) - 1)
    divergence = rows.get("jsd_matched", rows["jsd"]).to_numpy()
    for k, axes in enumerate(panels):
        groups = [divergence[(classes == k) & (bins == b)] for b in range(len(ATTENTION_BINS))]
        _violins(axes, groups, CLASS_COLOURS[k % len(CLASS_COLOURS)])
        labels = [f"{name}  n={len(group)}" for name, group in zip(ATTENTION_BINS, groups, strict=True)]
        name_rows(axes, labels, first=1)
        axes.set_xlim(0, LARGEST_JSD)
    panels[0].set_ylabel("largest attention weight of the base")
    return figure
