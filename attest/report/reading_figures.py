"""Figures of E14 and E15: pure functions of their tables."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.experiments.erasure.four_operators import KINDS, OPERATORS
from attest.experiments.readings import READINGS
from attest.experiments.readings.compared import SURVIVAL, column_of, title_of
from attest.report.intervals import whiskers
from attest.report.panels import Panels

EXPLAINED, RANDOM = "#0072B2", "#999999"
LEGEND = 1.6
"""Rows of room below the last one."""


def erasure_by_operator(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Comprehensiveness and sufficiency under each operator, beside random sets.

    Args:
        rows: ``<either>_<operator>`` and ``random_<either>_<operator>`` of each instance; NaN is left out.
        class_names: not asked.
    """
    figure = Figure(figsize=(9.0, 2.8), layout=Panels())
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
        shown = [name for name in OPERATORS if f"{kind}_{name}" in rows]
        for shift, prefix, colour, name in ((-0.2, "", EXPLAINED, "ranked first"), (0.2, "random_", RANDOM, "random")):
            values = [rows[f"{prefix}{kind}_{operator}"].dropna() for operator in shown]
            axes.barh(
                np.arange(len(shown)) + shift,
                [each.mean() for each in values],
                0.38,
                xerr=[1.96 * each.sem() for each in values],
                color=colour,
                capsize=2,
                label=name,
            )
        axes.set_yticks(range(len(shown)), [f"{each} (n={rows[f'{kind}_{each}'].count()})" for each in shown])
        axes.invert_yaxis()
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlabel(kind)
    axes.legend(fontsize=8)
    return figure


def readings_side_by_side(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Random sets beaten by each reading, best first, under two operators.

    The order is that of the table of readings: by the mean of both operators.

    Args:
        rows: ``win_comprehensiveness_<reading>`` and ``win_deleted_comprehensiveness_<reading>``; NaN is left out.
        class_names: not asked.
    """
    plain = {_of(name, "win_comprehensiveness_"): name for name in rows if name.startswith("win_comprehensiveness_")}
    survived = {each: np.mean([rows[f"{column}_{each}"].mean() for column in SURVIVAL]) for each in plain}
    order = sorted(plain, key=lambda each: survived[each])
    figure = Figure(figsize=(8.0, 0.3 * len(order) + 1.2), layout=Panels())
    axes = figure.subplots()
    for prefix, marker, label in (("", "o", "nothing attends to them"), ("deleted_", "s", "text shortened")):
        values = [rows[f"win_{prefix}comprehensiveness_{each}"].dropna() for each in order]
        axes.errorbar(
            [each.mean() for each in values],
            range(len(order)),
            xerr=np.transpose([whiskers(each) for each in values]),
            fmt=marker,
            capsize=2,
            label=label,
        )
    axes.axvline(0.5, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(order)), [title_of(each) for each in order])
    axes.set_ylim(-0.5 - LEGEND, len(order) - 0.5)
    axes.set_xlabel(f"random sets beaten (n={rows['win_comprehensiveness_random'].count()} texts)")
    axes.set_xlim(0, 1)
    axes.legend(fontsize=8, loc="lower left")
    return figure


def agreement_of_readings(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Mean τ-b of every two readings as a square of numbers.

    Args:
        rows: ``tau_<reading>_and_<reading>``; NaN is left out.
        class_names: not asked.
    """
    readings = (re.escape(column_of(name)) for name in READINGS)
    pair = re.compile("tau_({0})_and_({0})".format("|".join(readings)))
    pairs = {found.groups(): rows[name].mean() for name in rows if (found := pair.fullmatch(name))}
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    square = np.array([[1.0 if a == b else pairs.get((a, b), pairs.get((b, a), np.nan)) for b in names] for a in names])
    figure = Figure(figsize=(0.55 * len(names) + 3, 0.45 * len(names) + 2), layout=Panels())
    axes = figure.subplots()
    axes.imshow(square, cmap="RdBu_r", vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(square):
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(names)), [title_of(name) for name in names], rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), [title_of(name) for name in names], fontsize=8)
    return figure


def _of(column: str, prefix: str) -> str:
    return column.removeprefix(prefix)
