"""Figures of reproduced tables: functions of the tables' numbers alone.

``numbers`` is what ``attest.report.tables.table.table_numbers`` gives, one row a number.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attest.core.measures.summary import knee
from attest.report.figures import CLASS_COLOURS
from attest.runs.published_tables import NEARLY, OTHER, SAME_SETTING

OURS, THEIRS, NEAR_SETTING, OTHER_SETTING = "#0072B2", "#D55E00", "#CC79A7", "#999999"


def ours_and_published(numbers: pd.DataFrame, title: str) -> Figure:
    """Every published number beside ours: ours with its standard deviation over seeds, the published one as an open mark.

    Args:
        numbers: of which something is published and something was run; grey: published for another setting.
        title: on top.
    """
    figure = Figure(figsize=(8, 1.2 + 0.22 * len(numbers)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(numbers))
    axes.errorbar(numbers["ours"], places, xerr=numbers["std"].fillna(0), fmt="o", color=OURS, capsize=2, label="ours")
    published = (numbers["ours"] - numbers["difference"]).to_numpy()
    drawn = ((SAME_SETTING, THEIRS, "published"), (NEARLY, NEAR_SETTING, "published, a near setting"),
             (OTHER, OTHER_SETTING, "published, another setting"))  # fmt: skip
    for likeness, colour, label in drawn:
        chosen = (numbers["setting"] == likeness).to_numpy()
        if chosen.any():
            axes.plot(published[chosen], places[chosen], "D", mfc="none", mec=colour, label=label)
    axes.set_yticks(
        places, [f"{data}, {row}: {column}" for data, row, column in numbers[["data", "row", "column"]].to_numpy()]
    )
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return figure


def against_sweep(numbers: pd.DataFrame, columns: Sequence[str], label: str) -> Figure:
    """Quantities against the values of a sweep, one panel a corpus and row, on one scale; bars: std over seeds.

    Args:
        numbers: of sweeps.
        columns: which quantities.
        label: of the values, which stand at equal distances.
    """
    panels = list(numbers.dropna(subset="at").groupby(["data", "row"], sort=False))
    figure = Figure(figsize=(max(5.0, 4.2 * len(panels)), 3.2), layout="constrained")
    row_of_axes = np.ravel(figure.subplots(1, len(panels), squeeze=False, sharey=True))
    for axes, ((data, row), mine) in zip(row_of_axes, panels, strict=True):
        values = sorted(mine["at"].unique())
        for colour, column in zip(CLASS_COLOURS, columns, strict=False):
            line = mine[mine["column"] == column].set_index("at").reindex(values)
            axes.errorbar(
                range(len(values)), line["ours"], yerr=line["std"].fillna(0), marker="o", ms=3, color=colour, label=column
            )
        axes.set_xticks(range(len(values)), [f"{value:g}" for value in values], fontsize=8)
        axes.set_xlabel(label)
        axes.set_title(f"{data}, {row}", fontsize=10)
    figure.legend(*row_of_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def one_against_another(numbers: pd.DataFrame, x: str, y: str, gained: str | None = None) -> Figure:
    """One quantity against another, a point a row and value of its sweep, one panel a corpus; bars are over seeds.

    Args:
        numbers: rows without a sweep are single points.
        x, y: columns.
        gained: the one of them that is had at the cost of the other; then the knee of each sweep is circled.
    """
    corpora = list(numbers.groupby("data", sort=False))
    figure = Figure(figsize=(max(5.5, 4.5 * len(corpora)), 3.4), layout="constrained")
    for axes, (data, mine) in zip(np.ravel(figure.subplots(1, len(corpora), squeeze=False)), corpora, strict=True):
        for colour, (row, of_row) in zip(CLASS_COLOURS, mine.groupby("row", sort=False), strict=False):
            _path(axes, of_row, x, y, colour, str(row), gained)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_title(str(data), fontsize=10)
        axes.legend(frameon=False, fontsize=7)
    return figure


def _path(axes: Axes, of_row: pd.DataFrame, x: str, y: str, colour: str, label: str, gained: str | None) -> None:
    """The points of a row, joined in the order of its sweep and marked with its values."""
    points = of_row.assign(at=of_row["at"].fillna(0)).pivot_table(
        index="at", columns="column", values=["ours", "std"], dropna=False
    )
    across, up = points["ours", x], points["ours", y]
    bars = {"xerr": points["std", x].fillna(0), "yerr": points["std", y].fillna(0)}
    axes.errorbar(across, up, **bars, marker="o", ms=4, color=colour, label=label)
    if len(points) > 1:
        for at, place in zip(points.index, zip(across, up, strict=True), strict=True):
            axes.annotate(f"{at:g}", place, fontsize=6, xytext=(3, 3), textcoords="offset points")
    if gained:
        _knee(axes, points["ours"].dropna(), x, y, gained)


def _knee(axes: Axes, points: pd.DataFrame, x: str, y: str, gained: str) -> None:
    bend = knee(points[gained].to_numpy(), points[y if gained == x else x].to_numpy())
    if bend is not None:
        place, label = (points[x].iloc[bend], points[y].iloc[bend]), f"knee, {points.index[bend]:g}"
        axes.plot(*place, "o", markersize=12, mfc="none", mec=CLASS_COLOURS[4], label=label)
