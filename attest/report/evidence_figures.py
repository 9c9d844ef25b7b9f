"""Figures of the experiments on pooled attention: pure functions of their tables, one panel a predicted class."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attest.measures import critical_tau
from attest.report.figures import (
    ATTENTION_BINS,
    CLASS_COLOURS,
    _panel_per_class,
    _violins,
    class_title,
    name_rows,
    panels_width,
    scatter,
)
from attest.report.panels import Panels

IMPORTANCES = {
    "gradient_inputs": "gradient × input",
    "gradient_norm_inputs": "gradient norm, inputs",
    "leave_one_out_inputs": "leave-one-out, inputs",
    "gradient_norm_hidden": "gradient norm, hidden states",
    "leave_one_out_hidden": "leave-one-out, hidden states",
}
INPUTS, HIDDEN = "#0072B2", "#D55E00"
ORDERS = ("attention", "gradient", "product", "random", "minimum")
LARGEST_JSD = float(np.log(2))


def importance_histograms(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Jain & Wallace's Figures 2 and 8: tau-b with gradients above, with leave-one-out below, one panel a predicted class.

    Args:
        rows: ``predicted``, ``length`` and ``tau_gradient_inputs``, ``tau_leave_one_out_inputs`` of each instance; NaN is left
            out. Dotted: the tau that a text of median length needs for p < 0.05. Dashed: the mean.
        class_names: in class order.
    """
    kinds = [name for name in ("gradient_inputs", "leave_one_out_inputs") if f"tau_{name}" in rows]
    figure = Figure(figsize=(panels_width(class_names), 2.6 * len(kinds)), layout=Panels())
    grid = figure.subplots(len(kinds), len(class_names), sharex=True, squeeze=False)
    needed = critical_tau(float(rows["length"].median()))
    for row, kind in enumerate(kinds):
        for k, axes in enumerate(grid[row]):
            _histogram(axes, rows.loc[rows["predicted"] == k, f"tau_{kind}"].dropna(), CLASS_COLOURS[k % 8], needed)
            axes.set_title(class_title(class_names[k]), fontsize=10)
            axes.set_xlabel(f"τ-b with {IMPORTANCES[kind]}")
        grid[row][0].set_ylabel("instances")
    return figure


def _histogram(axes: Axes, taus: pd.Series, colour: str, needed: float) -> None:
    axes.hist(taus, bins=np.linspace(-1, 1, 41).tolist(), histtype="stepfilled", color=colour)
    for edge in (-needed, needed):
        axes.axvline(edge, color="black", linestyle=":", linewidth=1)
    if len(taus):
        axes.axvline(taus.mean(), color="black", linestyle="--", linewidth=1)


def importance_bars(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Meister et al.'s Figures 1 and 4: mean tau-b with importance of inputs and of hidden states, a panel a predicted class.

    Args:
        rows: ``predicted`` and ``tau_<importance>`` of each instance. Whiskers: standard deviation over instances; open
            marks: the mean ceiling that ties allow.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "Kendall's τ-b with attention")
    kinds = [name for name in IMPORTANCES if f"tau_{name}" in rows]
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        taus = mine[[f"tau_{name}" for name in kinds]]
        colours = [HIDDEN if name.endswith("hidden") else INPUTS for name in kinds]
        axes.barh(range(len(kinds)), taus.mean(), xerr=taus.std(), color=colours, alpha=0.8, capsize=2)
        axes.plot(mine[[f"ceiling_{name}" for name in kinds]].mean(), range(len(kinds)), "D", mfc="none", mec="black")
        name_rows(axes, [IMPORTANCES[name] for name in kinds], named=k == 0)
        axes.invert_yaxis()
        axes.axvline(0, color="black", linewidth=0.8)
    return figure


def adversary_violins(rows: pd.DataFrame, column: str, class_names: Sequence[str]) -> Figure:
    """Epsilon-max JSD by largest attention weight, one panel a predicted class.

    Args:
        rows: ``predicted``, ``max_attention`` and the column of each instance.
        column: ``jsd_exact`` or ``jsd_search``.
        class_names: in class order.
    """
    rows = rows.dropna(subset=[column, "max_attention"])
    figure, panels = _panel_per_class(class_names, "ε-max JSD")
    bins = np.clip((rows["max_attention"].to_numpy() * len(ATTENTION_BINS)).astype(int), 0, len(ATTENTION_BINS) - 1)
    for k, axes in enumerate(panels):
        mine = rows["predicted"].to_numpy() == k
        groups = [rows[column].to_numpy()[mine & (bins == b)] for b in range(len(ATTENTION_BINS))]
        _violins(axes, groups, CLASS_COLOURS[k % 8])
        labels = [f"{name}  n={len(group)}" for name, group in zip(ATTENTION_BINS, groups, strict=True)]
        name_rows(axes, labels, first=1)
        axes.set_xlim(0, LARGEST_JSD)
    panels[0].set_ylabel("largest attention weight")
    return figure


def largest_jsd_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """``adversary_violins`` of the exact answer where there is one, else of the search's."""
    return adversary_violins(rows, "jsd_exact" if "jsd_exact" in rows else "jsd_search", class_names)


def adversary_histograms(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """The survey's Figure 11: epsilon-max JSD, searched and exact, one panel a predicted class.

    Args:
        rows: ``predicted`` and any of ``jsd_search``, ``jsd_search_filter``, ``jsd_exact`` of each instance.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "ε-max JSD")
    styles = {"jsd_search": "search", "jsd_search_filter": "search, lenient filter", "jsd_exact": "exact"}
    shown = {column: label for column, label in styles.items() if column in rows}
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        for colour, (column, label) in zip(CLASS_COLOURS[2:], shown.items(), strict=False):
            bins = np.linspace(0, LARGEST_JSD, 41).tolist()
            axes.hist(mine[column], bins=bins, histtype="step", linewidth=1.4, color=colour, label=label)
    panels[0].set_ylabel("instances")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def exact_against_search(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """What the search missed: exact epsilon-max JSD against the searched one, one panel a predicted class.

    Args:
        rows: ``predicted``, ``jsd_search`` and ``jsd_exact`` of each instance; no point can lie below the diagonal.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "found by the search")
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        axes.plot([0, LARGEST_JSD], [0, LARGEST_JSD], color="black", linewidth=0.8)
        scatter(axes, mine["jsd_search"], mine["jsd_exact"], CLASS_COLOURS[k % 8])
    panels[0].set_ylabel("exact ε-max JSD")
    return figure


def erasure_scatter(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Serrano & Smith's scatter (the survey's Figure 4): how much more the top token matters, by how much more it weighs.

    Args:
        rows: ``predicted``, ``attention_gap`` and ``delta_js`` of each instance. In the corner of each panel, the share of
            texts whose decision flips without the top token only, a random one only, either, or neither.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "difference in attention")
    table = {"only_top": "top only", "only_random": "random only", "both": "both", "neither": "neither"}
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        scatter(axes, mine["attention_gap"], mine["delta_js"], CLASS_COLOURS[k % 8])
        axes.axhline(0, color="black", linewidth=0.8)
        shares = "\n".join(f"{label} {mine[name].mean():.1%}" for name, label in table.items())
        said = f"decision flips\n{shares}" if len(mine) else "no texts"
        axes.text(0.02, 0.97, said, transform=axes.transAxes, va="top", fontsize=7)
    panels[0].set_ylabel("ΔJS, top minus random")
    return figure


def erasure_boxes(rows: pd.DataFrame, class_names: Sequence[str], over: str = "fraction") -> Figure:
    """Serrano & Smith's boxes: share of weights zeroed until the decision flips, by order, one panel a predicted class.

    Args:
        rows: ``predicted`` and ``<over>_<order>`` of each instance; only texts that flip in every order are drawn.
        class_names: in class order.
        over: ``fraction``, of the text's tokens, or ``fraction_support``, of those that have attention.
    """
    figure, panels = _panel_per_class(class_names, "share zeroed until the decision flips")
    orders = [order for order in ORDERS if f"{over}_{order}" in rows]
    for k, axes in enumerate(panels):
        mine = rows.loc[rows["predicted"] == k, [f"{over}_{order}" for order in orders]].dropna()
        if len(mine):
            axes.boxplot(
                mine.to_numpy(), orientation="horizontal", medianprops={"color": "black"}, flierprops={"markersize": 2}
            )
        name_rows(axes, orders, first=1, named=k == 0)
        axes.set_xlim(0, 1)
        axes.set_title(class_title(class_names[k], f", n={len(mine)}"), fontsize=10)
    return figure


def entropy_bars(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """How spread attention and influence are, 0 to 1, one panel a predicted class.

    Args:
        rows: ``predicted`` and any of the columns ``entropy_…`` of each instance; whiskers are standard deviations.
        class_names: in class order.
    """
    labels = {
        "entropy_attention": "attention",
        "entropy_gradient": "gradient norms, inputs",
        "entropy_leave_one_out": "leave-one-out, inputs",
        "entropy_hidden": "influence on hidden states",
    }
    shown = [column for column in labels if column in rows]
    figure, panels = _panel_per_class(class_names, "normalised entropy")
    for k, axes in enumerate(panels):
        mine = rows.loc[rows["predicted"] == k, shown]
        axes.barh(range(len(shown)), mine.mean(), xerr=mine.std(), color=CLASS_COLOURS[k % 8], alpha=0.8, capsize=2)
        name_rows(axes, [labels[column] for column in shown], named=k == 0)
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
    return figure
