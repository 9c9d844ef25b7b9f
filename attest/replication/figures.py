"""Draw the figures of a reproduced table: our numbers beside the published ones, and the figures that the file of the table
asks for.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attest.core.errors import AttestError
from attest.core.measures.summary import knee
from attest.replication.table import SEEDS, Folders, evidence_rows, over_seeds
from attest.report.evidence_figures import largest_jsd_violins
from attest.report.figures import CLASS_COLOURS
from attest.report.findings import Findings
from attest.report.illustrations import illustrations
from attest.runs.folder import RunFolder
from attest.runs.published_tables import NEARLY, OTHER, SAME_SETTING, PublishedTable

OURS, THEIRS, NEAR_SETTING, OTHER_SETTING = "#0072B2", "#D55E00", "#CC79A7", "#999999"
Figures = Iterator[tuple[str, Figure]]


def table_figures(table: PublishedTable, numbers: pd.DataFrame, folders: Folders) -> dict[str, Figure]:
    """Draw all figures of a table of published numbers, and return them by file name."""
    measured = numbers[numbers["seeds"] > 0]
    judged = measured[measured["verdict"] != ""]
    figures = {"ours-and-published": ours_and_published(judged, table.title)} if len(judged) else {}
    for drawing in table.drawings if len(measured) else ():
        figures |= dict(DRAWINGS[drawing.draw](table, measured, folders, drawing.options))
    return figures


def _of_one_run(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    for (row, data, _), runs in folders.items():
        for folder in [runs[min(runs)]] if runs else []:
            possible = {each.key: each for each in illustrations(Findings(RunFolder(folder)))}
            if options["illustration"] in possible:
                yield f"{data}-{slug(row)}", possible[options["illustration"]].drawing


def _between_seeds(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    for (row, data, _), runs in folders.items():
        if len(runs) > 1 and (rows := evidence_rows(runs[sorted(runs)[1]], SEEDS)) is not None:
            classes = [str(k) for k in range(rows["predicted"].max() + 1)]
            yield f"{data}-{slug(row)}", largest_jsd_violins(rows, classes)


def slug(name: str) -> str:
    """Return a name with only characters that suit a file name."""
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def ours_and_published(numbers: pd.DataFrame, title: str) -> Figure:
    """Draw each of our numbers with its standard deviation over seeds, and the published number as an open mark.

    Args:
        numbers: the numbers with a published value and finished runs; a number published for another setting is drawn in grey.
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
    names = [f"{data}, {row}: {column}" for data, row, column in numbers[["data", "row", "column"]].to_numpy()]
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return figure


def against_sweep(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """Yield a figure of quantities against the values of a sweep, with one panel for each corpus and table row."""
    label = next(row.sweep.label for row in table.rows.values() if row.sweep is not None)
    panels = list(numbers.dropna(subset="at").groupby(["data", "row"], sort=False))
    figure = Figure(figsize=(max(5.0, 4.2 * len(panels)), 3.2), layout="constrained")
    row_of_axes = np.ravel(figure.subplots(1, len(panels), squeeze=False, sharey=True))
    for axes, ((data, row), mine) in zip(row_of_axes, panels, strict=True):
        values = sorted(mine["at"].unique())
        for colour, column in zip(CLASS_COLOURS, options["columns"], strict=False):
            line = mine[mine["column"] == column].set_index("at").reindex(values)
            spread = line["std"].fillna(0)
            axes.errorbar(range(len(values)), line["ours"], spread, marker="o", ms=3, color=colour, label=column)
        axes.set_xticks(range(len(values)), [f"{value:g}" for value in values], fontsize=8)
        axes.set_xlabel(label)
        axes.set_title(f"{data}, {row}", fontsize=10)
    figure.legend(*row_of_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    yield "against-sweep", figure


def one_against_another(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """Yield a figure of one quantity against another, with one panel for each corpus.

    The option ``gained`` names the quantity that is gained; the other is its cost. If ``gained`` is given, the knee of each
    sweep's curve (the point farthest below the chord) is circled. Rows that lack one of the quantities are not drawn.
    """
    x, y = options["x"], options["y"]
    either = numbers[numbers["column"].isin([x, y])]
    both = either[either.groupby(["data", "row"])["column"].transform("nunique") == len({x, y})]
    corpora = list(both.groupby("data", sort=False))
    if not corpora:
        return
    figure = Figure(figsize=(max(5.5, 4.5 * len(corpora)), 3.4), layout="constrained")
    for axes, (data, mine) in zip(np.ravel(figure.subplots(1, len(corpora), squeeze=False)), corpora, strict=True):
        for colour, (row, of_row) in zip(CLASS_COLOURS, mine.groupby("row", sort=False), strict=False):
            _path(axes, of_row, x, y, colour, str(row), options.get("gained"))
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(str(data), fontsize=10)
        axes.legend(frameon=False, fontsize=7)
    yield "one-against-another", figure


def _path(axes: Axes, of_row: pd.DataFrame, x: str, y: str, colour: str, label: str, gained: str | None) -> None:
    """Draw a table row as a line through its points; each point is labelled with its value of the sweep."""
    points = of_row.assign(at=of_row["at"].fillna(0)).pivot_table(
        index="at", columns="column", values=["ours", "std"], dropna=False
    )
    across, up = points["ours", x], points["ours", y]
    bars = {"xerr": points["std", x].fillna(0), "yerr": points["std", y].fillna(0)}
    axes.errorbar(across, up, **bars, marker="o", ms=4, color=colour, label=label)
    if len(points) > 1:
        for at, place in zip(points.index, zip(across, up, strict=True), strict=True):
            axes.annotate(f"{at:g}", place, fontsize=6, xytext=(3, 3), textcoords="offset points")
    known = points["ours"].dropna()
    bend = knee(known[gained].to_numpy(), known[y if gained == x else x].to_numpy()) if gained else None
    if bend is not None:
        place, label = (known[x].iloc[bend], known[y].iloc[bend]), f"knee, {known.index[bend]:g}"
        axes.plot(*place, "o", markersize=12, mfc="none", mec=CLASS_COLOURS[4], label=label)


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def _looks(table: PublishedTable, options: Mapping[str, Any], key: str, looks: Sequence[str]) -> dict[str, str]:
    """Return the colour or the marker of each value of the choice that an option names."""
    values = [*dict.fromkeys(row.run[options[key]] for row in table.rows.values())]
    if len(values) > len(looks):
        raise AttestError(
            f"the figure each_run has {key}: {options[key]}, and the rows of the table have {len(values)} values of it; "
            f"expected at most {len(looks)}. Name another choice there, or show fewer rows in a table of their own."
        )
    return dict(zip(values, looks, strict=False))


def each_run(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """Yield a figure of one quantity against another for each corpus, with a point for each run.

    The options ``x`` and ``y`` name columns. ``colour`` and ``marker`` name choices of the rows, such as ``PROJECTION`` and
    ``MODEL``: runs with the same value have the same colour or marker.

    Raises:
        AttestError: a choice has more values than there are colours or markers.
    """
    x, y = (table.columns[options[axis]] for axis in ("x", "y"))
    colours, markers = _looks(table, options, "colour", CLASS_COLOURS), _looks(table, options, "marker", MARKERS)
    for data in dict.fromkeys(data for _, data, _ in folders):
        figure = Figure(figsize=(6.5, 4), layout="constrained")
        axes = figure.subplots()
        for (row, where, _), runs in folders.items():
            across, up = over_seeds(runs, x), over_seeds(runs, y)
            seeds = [seed for seed in runs if seed in across and seed in up] if where == data else []
            choices = table.rows[row].run
            colour, marker = colours[choices[options["colour"]]], markers[choices[options["marker"]]]
            points = [across[seed] for seed in seeds], [up[seed] for seed in seeds]
            axes.plot(*points, color=colour, marker=marker, linestyle="none", alpha=0.8)
        here = [row.run for row in table.rows.values() if data in row.data]
        coloured, marked = ({run[options[key]] for run in here} for key in ("colour", "marker"))
        of_colours = [
            Line2D([], [], color=colour, marker="o", linestyle="none", label=name)
            for name, colour in colours.items()
            if name in coloured
        ]
        of_markers = [
            Line2D([], [], color="grey", marker=mark, linestyle="none", label=name)
            for name, mark in markers.items()
            if name in marked
        ]
        axes.set(xlabel=x.name, ylabel=y.name)
        axes.set_title(str(data), fontsize=10)
        figure.legend(handles=of_colours + of_markers, loc="outside right upper", frameon=False, fontsize=8)
        yield f"{data}-each-run", figure


def side_by_side(table: PublishedTable, numbers: pd.DataFrame, folders: Folders, options: Mapping[str, Any]) -> Figures:
    """Yield a figure of several models under the same conditions, with one panel for each corpus.

    The option ``conditions`` has the row and the column of each model under each condition, and ``x`` says what their numbers
    are. Our numbers have their standard
    deviations over seeds; published ones are open marks.

    Raises:
        AttestError: the table has no such row or column.
    """
    conditions = options["conditions"]
    places = {(row, column) for models in conditions.values() for row, column in models.values()}
    if unknown := sorted(f"{row}, {column}" for row, column in places if row not in table.rows or column not in table.columns):
        raise AttestError(f"the figure side_by_side names {unknown[0]!r}; expected a row and a column of the table.")
    colours = dict(
        zip(dict.fromkeys(model for models in conditions.values() for model in models), CLASS_COLOURS, strict=False)
    )
    for data, mine in numbers.groupby("data", sort=False):
        known = mine.drop_duplicates(["row", "column"]).set_index(["row", "column"])
        figure = Figure(figsize=(7, 1.2 + 0.5 * len(conditions)), layout="constrained")
        axes = figure.subplots()
        for number, (model, colour) in enumerate(colours.items()):
            cells = [(up, tuple(each[model])) for up, each in enumerate(conditions.values()) if model in each]
            there = [(up + 0.2 * number, known.loc[cell]) for up, cell in cells if cell in known.index]
            heights, ours = [up for up, _ in there], np.array([cell["ours"] for _, cell in there])
            spread = np.nan_to_num(np.array([cell["std"] for _, cell in there], dtype=float))
            axes.errorbar(ours, heights, xerr=spread, fmt="o", color=colour, capsize=2, label=model)
            published = ours - np.array([cell["difference"] for _, cell in there], dtype=float)
            if np.isfinite(published).any():
                axes.plot(published, heights, "D", mfc="none", mec=colour, label=f"{model}, published")
        axes.set_yticks(range(len(conditions)), conditions)
        axes.invert_yaxis()
        axes.set_xlabel(options["x"])
        axes.set_title(f"{table.title}, {data}", fontsize=10)
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
        yield f"{data}-side-by-side", figure


DRAWINGS: dict[str, Callable[[PublishedTable, pd.DataFrame, Folders, Mapping[str, Any]], Figures]] = {
    "of_one_run": _of_one_run,
    "against_sweep": against_sweep,
    "one_against_another": one_against_another,
    "between_seeds": _between_seeds,
    "each_run": each_run,
    "side_by_side": side_by_side,
}
"""The functions that draw the figures of a published table. The keys are the names that the table's file may state under
``draw``."""
