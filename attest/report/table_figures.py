"""Figures of reproduced tables: functions of the tables' numbers, or of the evidence of one run beside another."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.experiments import Experiment

OURS, THEIRS, OTHER_SETTING = "#0072B2", "#D55E00", "#999999"


def ours_and_published(numbers: pd.DataFrame, title: str) -> Figure:
    """Every published number beside ours: ours with its standard deviation over seeds, the published one as an open mark.

    Args:
        numbers: rows with something published, of ``attest.reproduce.table.table_numbers``; grey: another setting.
        title: on top.
    """
    figure = Figure(figsize=(8, 1.2 + 0.22 * len(numbers)), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(numbers))
    published = numbers["ours"] - numbers["difference"]
    published = published.where(numbers["seeds"] > 0, numbers["published"].str.split().str[0].astype(float))
    axes.errorbar(numbers["ours"], places, xerr=numbers["std"].fillna(0), fmt="o", color=OURS, capsize=2, label="ours")
    for comparable, colour, label in ((True, THEIRS, "published"), (False, OTHER_SETTING, "published, another setting")):
        chosen = (numbers["comparable"] == comparable).to_numpy()
        axes.plot(published[chosen], places[chosen], "D", mfc="none", mec=colour, label=label if chosen.any() else None)
    axes.set_yticks(
        places, [f"{data}, {row}: {column}" for data, row, column in numbers[["data", "row", "column"]].to_numpy()]
    )
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return figure


def table_figures(experiment: Experiment, numbers: pd.DataFrame, folders: Mapping) -> dict[str, Figure]:
    """All figures of a table by file name."""
    published = numbers[(numbers["published"] != "") & (numbers["seeds"] > 0)]
    figures = {}
    if len(published):
        figures["ours-and-published"] = ours_and_published(published, experiment.title)
    return figures
