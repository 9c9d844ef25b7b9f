"""Draw the evidence tables of a run as figures.

A function with the arguments ``rows`` and ``class_names`` draws one experiment. ``rows`` is its table of evidence, with one
row for each instance; ``class_names`` are the names of the classes in class order, used only if each panel is for one class.
NaN is left out.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attest.core.measures import critical_tau
from attest.core.measures.numbers import number, percent
from attest.core.measures.summary import by_text
from attest.experiments.erasure.four_operators import KINDS, OPERATORS
from attest.experiments.layers.heads import CURVE, by_head
from attest.experiments.readings import READINGS
from attest.experiments.readings.compared import SURVIVAL, column_of, title_of
from attest.report.collection import whiskers
from attest.report.figures import CLASS_COLOURS, on_hover
from attest.report.panels import ALL_TEXTS, most_predicted
from attest.report.related import HEADINGS

ATTENTION_BINS = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")
PANEL_WIDTH, PANEL_HEIGHT = 3.2, 2.8
TITLE = 20
"""The largest number of characters in one line of the title above a panel; a longer title is broken into lines."""
RASTERISED = 400
"""A scatter plot of more points than this is stored as pixels: as vectors they would take megabytes."""
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


def learning_curves(epochs: Sequence[dict[str, float]]) -> Figure:
    """Draw losses and validation scores against epochs.

    Args:
        epochs: entries with ``epoch`` and any of ``train/loss``, ``validation/loss``, ``validation/<score>``.
    """
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    drawn = {
        "loss": ("train/loss", "validation/loss"),
        "score": ("validation/accuracy", "validation/f1", "validation/chunk_f1", "validation/roc_auc"),
    }
    at = [epoch["epoch"] + 1 for epoch in epochs]
    for axes, (label, names) in zip(figure.subplots(1, 2), drawn.items(), strict=True):
        known = [name for name in names if any(name in epoch for epoch in epochs)]
        for colour, name in zip(CLASS_COLOURS, known, strict=False):
            axes.plot(at, [epoch.get(name, np.nan) for epoch in epochs], marker="o", markersize=3, color=colour, label=name)
        axes.set(xlabel="epoch", ylabel=label)
        if known:
            axes.legend(frameon=False, fontsize=8)
    return figure


def _panels(class_names: Sequence[str], xlabel: str, ylabel: str = "") -> tuple[Figure, list[Axes]]:
    """Create a figure with one panel for each predicted class and one shared label of the x axis."""
    size = (max(8.0, PANEL_WIDTH * len(class_names)), PANEL_HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(1, len(class_names), sharex=True, squeeze=False)[0])
    for name, axes in zip(class_names, panels, strict=True):
        _set_class_title(axes, name)
    figure.supxlabel(xlabel, fontsize=10)
    panels[0].set_ylabel(ylabel)
    return figure, panels


def _one_panel(width: float, height: float, xlabel: str = "", ylabel: str = "") -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure, axes


def _set_class_title(axes: Axes, name: str, beside: str = "") -> None:
    title = textwrap.fill(f"{'' if name == ALL_TEXTS else 'predicted: '}{name}{beside}", TITLE)
    axes.set_title(title.replace("$", r"\$"), fontsize=10)


def _colour(k: int) -> str:
    return CLASS_COLOURS[k % len(CLASS_COLOURS)]


def _name_rows(axes: Axes, names: Sequence[str], first: int = 0, named: bool = True) -> None:
    axes.set_yticks(range(first, first + len(names)), names if named else [""] * len(names))
    axes.set_ylim(first - 0.5, first + len(names) - 0.5)


def _violins_by_attention(
    rows: pd.DataFrame, class_names: Sequence[str], column: str, labels: tuple[str, str], largest: float
) -> Figure:
    """Draw violins of a column for bins of ``max_attention``, one panel for each predicted class."""
    figure, panels = _panels(class_names, *labels)
    bins = np.clip((rows["max_attention"].to_numpy() * len(ATTENTION_BINS)).astype(int), 0, len(ATTENTION_BINS) - 1)
    for k, axes in enumerate(panels):
        mine = (rows["predicted"] == k).to_numpy()
        groups = [rows[column].to_numpy()[mine & (bins == place)] for place in range(len(ATTENTION_BINS))]
        _draw_violins(axes, groups, _colour(k))
        _name_rows(axes, [f"{name}  n={len(group)}" for name, group in zip(ATTENTION_BINS, groups, strict=True)], first=1)
        axes.set_xlim(0, largest)
    return figure


def _draw_violins(axes: Axes, groups: Sequence[np.ndarray], colour: str) -> None:
    """Draw each group of values as a horizontal violin, or as points if the group is too small."""
    for place, group in enumerate(groups, start=1):
        if len(group) >= 5 and np.ptp(group) > 0:
            parts: Any = axes.violinplot(group, [place], orientation="horizontal", widths=0.8, showmedians=True)
            for body in parts["bodies"]:
                body.set_facecolor(colour)
                body.set_alpha(0.6)
            for line in ("cmedians", "cbars", "cmins", "cmaxes"):
                parts[line].set_color("black")
                parts[line].set_linewidth(1.0)
        else:
            axes.plot(group, [place] * len(group), "o", color=colour, markersize=3)


def _draw_bars(axes: Axes, values: pd.DataFrame, names: Sequence[str], named: bool, colours: str | Sequence[str]) -> None:
    axes.barh(range(len(names)), values.mean(), xerr=values.std(), color=colours, alpha=0.8, capsize=2)
    _name_rows(axes, names, named=named)
    axes.invert_yaxis()


def _draw_means(axes: Axes, at: Any, values: pd.DataFrame, colour: str, label: str) -> None:
    margins = np.transpose([whiskers(values[name]) for name in values])
    axes.errorbar(at, values.mean(), yerr=margins, marker="o", ms=4, lw=1, capsize=2, color=colour, label=label)


def _scatter(axes: Axes, x: pd.Series, y: pd.Series, colour: str) -> None:
    axes.plot(x, y, ".", markersize=2, color=colour, rasterized=len(x) > RASTERISED)


def permutation_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw Jain & Wallace's Figure 3: violins of ``tvd_median`` under permutation, for bins of ``max_attention``."""
    labels = ("median TVD over permutations", "largest attention weight")
    return _violins_by_attention(rows, class_names, "tvd_median", labels, 1)


def importance_histograms(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw Jain & Wallace's Figures 2 and 8: histograms of the τ-b of attention with gradients and with leave-one-out.

    The columns are ``tau_gradient_inputs``, ``tau_leave_one_out_inputs`` and ``length``. A dotted line marks the τ-b that a
    text of median length needs for p < 0.05, and a dashed line marks the mean.
    """
    kinds = [name for name in ("gradient_inputs", "leave_one_out_inputs") if f"tau_{name}" in rows]
    figure = Figure(figsize=(max(8.0, PANEL_WIDTH * len(class_names)), 2.6 * len(kinds)), layout="constrained")
    grid = figure.subplots(len(kinds), len(class_names), sharex=True, squeeze=False)
    needed = critical_tau(float(rows["length"].median()))
    for row, kind in enumerate(kinds):
        for k, axes in enumerate(grid[row]):
            taus = rows.loc[rows["predicted"] == k, f"tau_{kind}"].dropna()
            axes.hist(taus, bins=np.linspace(-1, 1, 41).tolist(), histtype="stepfilled", color=_colour(k))
            for edge in (-needed, needed):
                axes.axvline(edge, color="black", linestyle=":", linewidth=1)
            if len(taus):
                axes.axvline(taus.mean(), color="black", linestyle="--", linewidth=1)
            _set_class_title(axes, class_names[k])
            axes.set_xlabel(f"τ-b with {IMPORTANCES[kind]}")
        grid[row][0].set_ylabel("instances")
    return figure


def importance_bars(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw Meister et al.'s Figures 1 and 4: the mean τ-b of attention with the importance of inputs and hidden states.

    The columns are ``tau_<importance>`` and ``ceiling_<importance>``. The ceiling, drawn as an open mark, is the largest τ-b
    that ties allow.
    """
    figure, panels = _panels(class_names, "Kendall's τ-b with attention")
    kinds = [name for name in IMPORTANCES if f"tau_{name}" in rows]
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        colours = [HIDDEN if name.endswith("hidden") else INPUTS for name in kinds]
        _draw_bars(axes, mine[[f"tau_{name}" for name in kinds]], [IMPORTANCES[name] for name in kinds], k == 0, colours)
        axes.plot(mine[[f"ceiling_{name}" for name in kinds]].mean(), range(len(kinds)), "D", mfc="none", mec="black")
        axes.axvline(0, color="black", linewidth=0.8)
    return figure


def largest_jsd_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw violins of the JSD of adversarial attention, by ``max_attention``, one panel for each predicted class.

    The column is ``jsd_exact``, else ``jsd_search``, else ``jsd``.
    """
    column = next(name for name in ("jsd_exact", "jsd_search", "jsd") if name in rows)
    known = rows.dropna(subset=[column, "max_attention"])
    return _violins_by_attention(known, class_names, column, ("ε-max JSD", "largest attention weight"), LARGEST_JSD)


def adversary_histograms(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw histograms of how far attention can move (JSD) if predictions move by at most ε.

    The figure shows the histograms of Jain & Wallace's Figure 5 (the survey's Figure 11). The columns are any of
    ``jsd_search``, ``jsd_search_filter`` and ``jsd_exact``.
    """
    figure, panels = _panels(class_names, "ε-max JSD", "instances")
    styles = {"jsd_search": "search", "jsd_search_filter": "search, lenient filter", "jsd_exact": "exact"}
    shown = {column: label for column, label in styles.items() if column in rows}
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        for colour, (column, label) in zip(CLASS_COLOURS[2:], shown.items(), strict=False):
            bins = np.linspace(0, LARGEST_JSD, 41).tolist()
            axes.hist(mine[column], bins=bins, histtype="step", linewidth=1.4, color=colour, label=label)
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def exact_against_search(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw the JSD of the exact adversary against that of the adversary found by search, by predicted class."""
    figure, panels = _panels(class_names, "found by the search", "exact ε-max JSD")
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        axes.plot([0, LARGEST_JSD], [0, LARGEST_JSD], color="black", linewidth=0.8)
        _scatter(axes, mine["jsd_search"], mine["jsd_exact"], _colour(k))
    return figure


def erasure_scatter(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw ΔJS of the top and a random token against their difference in attention (Serrano & Smith).

    The columns are ``attention_gap`` and ``delta_js``. The corner of each panel has the share of texts whose decision flips
    without the top token only, a random one only, either, or neither: ``only_top``, ``only_random``, ``both``, ``neither``.
    """
    figure, panels = _panels(class_names, "difference in attention", "ΔJS, top minus random")
    table = {"only_top": "top only", "only_random": "random only", "both": "both", "neither": "neither"}
    for k, axes in enumerate(panels):
        mine = rows[rows["predicted"] == k]
        _scatter(axes, mine["attention_gap"], mine["delta_js"], _colour(k))
        axes.axhline(0, color="black", linewidth=0.8)
        shares = "\n".join(f"{label} {mine[name].mean():.1%}" for name, label in table.items())
        said = f"decision flips\n{shares}" if len(mine) else "no texts"
        axes.text(0.02, 0.97, said, transform=axes.transAxes, va="top", fontsize=8)
    return figure


def erasure_boxes(rows: pd.DataFrame, class_names: Sequence[str], over: str = "fraction") -> Figure:
    """Draw box plots of the share of weights set to zero until the decision flips (Serrano & Smith).

    The columns are ``<over>_<order>``. ``over`` is ``fraction``, a share of all tokens of the text, or ``fraction_support``, a
    share of the tokens that have attention. ``order`` names the order in which weights are set to zero. Only texts that flip
    in every order are drawn.
    """
    figure, panels = _panels(class_names, "share of weights set to zero until the decision flips")
    orders = [order for order in ORDERS if f"{over}_{order}" in rows]
    for k, axes in enumerate(panels):
        mine = rows.loc[rows["predicted"] == k, [f"{over}_{order}" for order in orders]].dropna()
        if len(mine):
            axes.boxplot(
                mine.to_numpy(), orientation="horizontal", medianprops={"color": "black"}, flierprops={"markersize": 2}
            )
        _name_rows(axes, orders, first=1, named=k == 0)
        axes.set_xlim(0, 1)
        _set_class_title(axes, class_names[k], f", n={len(mine)}")
    return figure


def entropy_bars(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw the normalised entropy, in [0, 1], of attention and of importance measures, by predicted class.

    The columns are any of ``entropy_…``; whiskers are standard deviations over instances.
    """
    labels = {
        "entropy_attention": "attention",
        "entropy_gradient": "gradient norms, inputs",
        "entropy_leave_one_out": "leave-one-out, inputs",
        "entropy_hidden": "influence on hidden states",
    }
    shown = [column for column in labels if column in rows]
    figure, panels = _panels(class_names, "normalised entropy")
    for k, axes in enumerate(panels):
        _draw_bars(axes, rows.loc[rows["predicted"] == k, shown], [labels[column] for column in shown], k == 0, _colour(k))
        axes.set_xlim(0, 1)
    return figure


BESIDE = 0.1
"""The distance between two labels of a plot, as a share of the length of each axis, below which they would overlap; one of the
two is then left out."""
MARKS = {"E3": "*", "E4": "s", "E5": "x"}


def divergence_against_distance(adversaries: pd.DataFrame, baselines: pd.DataFrame, cost: str, gained: str) -> Figure:
    """Draw how far adversaries move attention against how far they move predictions (Wiegreffe & Pinter's Figure 5).

    The curve is the trade-off: the largest distance of attention that an adversary reached at this cost or a smaller one.

    Args:
        adversaries: one row for each adversary, by λ: ``lambda``, ``knee`` (True in at most one row, whose point gets a ring),
            and the columns named by ``cost`` and ``gained``.
        baselines: ``experiment``, ``name`` and, if known, the columns named by ``cost`` and ``gained``; may be empty.
        cost, gained: the names of the distances of predictions (x axis) and of attention (y axis).
    """
    figure, axes = _one_panel(8, 4, HEADINGS[cost], HEADINGS[gained])
    axes.plot(
        adversaries[cost], adversaries[gained], "o", markersize=6, color=CLASS_COLOURS[1], label="adversaries (E7), by λ"
    )
    reached = adversaries.dropna(subset=[cost, gained]).sort_values(cost)
    most = "the most that was reached at this cost"
    axes.step(reached[cost], reached[gained].cummax(), where="post", color=CLASS_COLOURS[1], linewidth=1.2, label=most)
    points = adversaries[[cost, gained]].to_numpy(float)
    for lam, (x, y) in zip(adversaries["lambda"][_with_room(points)], points[_with_room(points)], strict=True):
        axes.annotate(f"{lam:g}", (x, y), textcoords="offset points", xytext=(7, -12), fontsize=9)
    bend = adversaries[adversaries["knee"]]
    label = "knee" if len(bend) else None
    axes.plot(bend[cost], bend[gained], "o", markersize=13, mfc="none", mec=CLASS_COLOURS[4], label=label)
    known = baselines.dropna(subset=[cost, gained]) if {cost, gained} <= {*baselines.columns} else baselines.iloc[:0]
    by_experiment = known.groupby("experiment") if len(known) else ()
    for colour, (experiment, several) in zip(CLASS_COLOURS[2:], by_experiment, strict=False):
        label = f"{experiment}, {several['name'].iloc[0] if len(several) == 1 else f'{len(several)} other seeds'}"
        axes.plot(several[cost], several[gained], MARKS[experiment], markersize=8, color=colour, label=label)
    axes.margins(x=0.08, y=0.08)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
    return figure


def _with_room(points: np.ndarray) -> np.ndarray:
    """Return which of N points ``(N, 2)`` get a label, bool ``(N,)``, so that labels do not overlap."""
    extent = np.ptp(points, axis=0)
    scaled = points / np.where(extent > 0, extent, 1)
    chosen = np.zeros(len(points), dtype=bool)
    for place, point in enumerate(scaled):
        chosen[place] = (np.abs(point - scaled[chosen]).max(axis=1) > BESIDE).all()
    return chosen


def divergence_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw Wiegreffe & Pinter's Figure 3: violins of the JSD to the base run's attention.

    The column is ``jsd``; of taggers it is ``jsd_matched``, in one panel, because ``predicted`` is missing.
    """
    rows, names = most_predicted(rows, class_names) if "predicted" in rows else (rows.assign(predicted=0), ["all"])
    labels = "JSD from the base run's attention", "largest attention weight of the base"
    return _violins_by_attention(rows, names, "jsd_matched" if "jsd_matched" in rows else "jsd", labels, LARGEST_JSD)


def roar_curves(shares: Sequence[float], scores: Mapping[str, Sequence[float]], random: str) -> Figure:
    """Draw test accuracy against the share of erased tokens, one line for each explanation."""
    figure, axes = _one_panel(8, 3.6, "share of tokens erased", "test accuracy")
    for title, values in scores.items():
        colour, style = ("#999999", "--") if title == random else (None, "-")
        axes.plot(shares, values, style, marker="o", markersize=4, color=colour, label=title)
    axes.legend(fontsize=8)
    return figure


CUT = {"drop": "most attended", "drop_random": "random", "drop_sink": "first token"}


def sink_map(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw a map of each head's mean attention on the first token, in [0, 1]: rows are layers, columns are heads."""
    means = rows.filter(regex=r"^sink_layer\d+_head\d+$").mean()
    means.index = pd.MultiIndex.from_frame(means.index.str.extract(r"layer(\d+)_head(\d+)").astype(int))
    shares = means.unstack().to_numpy()
    layers, heads = shares.shape
    figure, axes = _one_panel(1.8 + 0.35 * heads, 1.4 + 0.22 * layers, "head", "layer")
    image = axes.imshow(shares, vmin=0, vmax=1, cmap="Blues", interpolation="nearest", aspect="auto")
    step = -(-layers // 15)
    axes.set_xticks(range(heads), [str(head) for head in range(1, heads + 1)])
    axes.set_yticks(range(0, layers, step), [str(layer) for layer in range(1, layers + 1, step)])
    figure.colorbar(image, ax=axes, label="share of attention")
    return figure


def knockout_by_window(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw, for each window of layers, how far the logit difference falls if attention in these layers is cut.

    The columns are ``drop`` (attention to the most attended tokens is cut), ``drop_random`` (to random tokens) and
    ``drop_sink`` (to the first token), for all layers, or for a window of layers with the ending ``_layers<a>to<b>``.
    """
    rows = by_text(rows)
    suffixes = [name.removeprefix("drop") for name in rows.columns if re.fullmatch(r"drop(_layers\w+)?", name)]
    windows = [*suffixes[1:], suffixes[0]]
    figure, axes = _one_panel(8, 3, ylabel="fall of the logit difference")
    for place, (colour, (name, label)) in enumerate(zip(CLASS_COLOURS, CUT.items(), strict=False)):
        values = rows[[f"{name}{suffix}" for suffix in windows]]
        at = np.arange(len(windows)) + 0.12 * (place - 1)
        axes.errorbar(at, values.mean(), yerr=1.96 * values.sem(), fmt="o", ms=4, capsize=2, color=colour, label=label)
    axes.axhline(0, color="black", linewidth=0.8)
    names = [suffix.removeprefix("_layers").replace("to", " to ") if suffix else "all layers" for suffix in windows]
    axes.set_xticks(range(len(windows)), names)
    axes.legend(frameon=False, fontsize=8)
    return figure


def head_map(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw how far the logit difference falls if a head is switched off: rows are layers, columns are heads.

    For each head there are the columns ``drop_layer<l>_head<h>``, the fall; ``flipped_…``, whether the decision changes;
    ``look_…``, the share of its attention on important tokens; and ``write_…``, the fall that a gradient estimates.
    """
    heads = by_head(rows)
    layers, width = heads["layer"].max(), heads["head"].max()
    figure, axes = _one_panel(1.8 + 0.35 * width, 1.4 + 0.22 * layers, "head", "layer")
    largest = heads["drop"].abs().max() or 1.0
    colours = ScalarMappable(Normalize(-largest, largest), "RdBu_r")
    for head in heads.itertuples():
        square = Rectangle((head.head - 0.5, head.layer - 0.5), 1, 1, color=colours.to_rgba(head.drop))
        said = f"without head {head.head} of layer {head.layer}, the logit difference falls by {number(head.drop)}"
        said += f" and {percent(head.flipped)} of decisions change"
        wrote = f"; “write”: a gradient estimates this fall as {number(head.write)}"
        on_hover(square, f"{said}; “look”: {percent(head.look)} of its attention is on important tokens" + wrote)
        axes.add_patch(square)
    axes.set(xlim=(0.5, width + 0.5), ylim=(layers + 0.5, 0.5))
    axes.set(xticks=range(1, width + 1), yticks=range(1, layers + 1, -(-layers // 15)))
    figure.colorbar(colours, ax=axes, label="fall of the logit difference")
    return figure


def head_curves(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw the share of changed decisions against the share of heads switched off, one line for each order of heads.

    The columns are ``flipped_look_<percent>``, ``flipped_write_<percent>`` and ``flipped_random_<percent>``. Heads are in
    order of attention on important tokens (``look``), of the effect that a gradient estimates (``write``), or random.
    """
    figure, axes = _one_panel(8, 3, "heads switched off, %", "decisions changed")
    orders = {"look": "where they look", "write": "what they write", "random": "random order"}
    for colour, (order, label) in zip(CLASS_COLOURS, orders.items(), strict=False):
        _draw_means(axes, CURVE, rows[[f"flipped_{order}_{percentage}" for percentage in CURVE]], colour, label)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=8)
    return figure


TICKS = 25
"""The largest number of tokens that are written along an axis. If a text has more, only every second, third, … token is
written."""
INCHES = 2.6


def attention_map_grid(maps: Mapping[str, Sequence[np.ndarray]], tokens: Sequence[str]) -> Figure:
    """Draw attention maps in a grid, with one column for each condition and one row for each layer.

    Args:
        maps: the maps ``(T, T)`` of the layers of each condition, first to last; rows are queries, columns are keys.
    """
    layers = len(next(iter(maps.values())))
    figure = Figure(figsize=(INCHES * len(maps) + 1.4, INCHES * layers + 1.2), layout="constrained")
    grid = figure.subplots(layers, len(maps), squeeze=False, sharex=True, sharey=True)
    scale = PowerNorm(0.5, 0, max(float(layer.max()) for condition in maps.values() for layer in condition))
    for column, (name, condition) in enumerate(maps.items()):
        for row, weights in enumerate(condition):
            image = grid[row][column].imshow(weights, cmap="Blues", norm=scale, interpolation="nearest", aspect="equal")
        grid[0][column].set_title(name, fontsize=10)
    for row in range(layers):
        grid[row][0].set_ylabel(f"layer {row + 1}")
    places = range(0, len(tokens), -(-len(tokens) // TICKS))
    names = [tokens[place].replace("$", r"\$") for place in places]
    grid[-1][0].set_xticks(places, names)
    grid[-1][0].set_yticks(places, names)
    for axes in grid.flat:
        axes.tick_params(axis="x", labelrotation=90, labelsize=7)
        axes.tick_params(axis="y", labelsize=7)
    figure.colorbar(image, ax=grid, shrink=0.6, label="weight, mean over heads")
    return figure


def accuracy_by_layer(swapped: pd.DataFrame | None, shuffled: pd.DataFrame | None) -> Figure:
    """Draw the accuracy when the attention of one layer, or of all layers, is changed.

    Args:
        swapped, shuffled: tables of E8 and E9; None if one is missing.
    """
    figure, axes = _one_panel(8, 3, ylabel="accuracy")
    tables = [(table, prefix) for table, prefix in ((swapped, "under "), (shuffled, "keys ")) if table is not None]
    whole = re.compile("correct_(?!.*_layer).*")
    kinds = [(table, prefix, name) for table, prefix in tables for name in table.columns if whole.fullmatch(name)]
    layers = 0
    for colour, (table, prefix, kind) in zip(CLASS_COLOURS, kinds, strict=False):
        alone = [name for name in table.columns if name.startswith(f"{kind}_layer")]  # in order, first layer to last
        values = table[[*alone, kind]].astype(float)
        _draw_means(axes, range(len(alone) + 1), values, colour, f"{prefix}{kind.removeprefix('correct_')}")
        layers = max(layers, len(alone))
    axes.axhline(tables[0][0]["correct"].mean(), color="black", linestyle="--", linewidth=0.8)
    axes.set_xticks(range(layers + 1), [*(f"layer {place}" for place in range(1, layers + 1)), "all layers"])
    axes.legend(frameon=False, fontsize=8)
    return figure


EXPLAINED, RANDOM = "#0072B2", "#999999"


def erasure_by_operator(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw comprehensiveness and sufficiency of top and of random tokens, for each way to erase tokens.

    The columns are ``<kind>_<operator>`` and ``random_<kind>_<operator>``, of both kinds: ``comprehensiveness``,
    ``sufficiency``.
    """
    rows = by_text(rows)
    figure = Figure(figsize=(9.0, 2.8), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
        shown = [name for name in OPERATORS if f"{kind}_{name}" in rows]
        for shift, prefix, colour, name in (
            (-0.2, "", EXPLAINED, "tokens ranked first"),
            (0.2, "random_", RANDOM, "random tokens"),
        ):
            values = rows[[f"{prefix}{kind}_{operator}" for operator in shown]]
            places = np.arange(len(shown)) + shift
            axes.barh(places, values.mean(), 0.38, xerr=1.96 * values.sem(), color=colour, capsize=2, label=name)
        axes.set_yticks(range(len(shown)), [f"{each} (n={rows[f'{kind}_{each}'].count()})" for each in shown])
        axes.invert_yaxis()
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_xlabel(kind)
    axes.legend(fontsize=8)
    return figure


def readings_side_by_side(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw how often erasing an explanation's top tokens moves the prediction more than erasing random tokens.

    Tokens are erased in two ways: they get no attention (columns ``win_comprehensiveness_<reading>``), or they are deleted
    (columns ``win_deleted_comprehensiveness_<reading>``). Readings are sorted by the mean of both, the best at the top.
    """
    prefix = "win_comprehensiveness_"
    readings = [name.removeprefix(prefix) for name in rows if name.startswith(prefix)]
    order = sorted(readings, key=lambda each: float(np.mean([rows[f"{column}_{each}"].mean() for column in SURVIVAL])))
    said = f"share of random sets beaten (n={rows['win_comprehensiveness_random'].count()} texts)"
    figure, axes = _one_panel(8, 0.3 * len(order) + 1.4, said)
    for prefix, marker, label in (("", "o", "erased tokens get no attention"), ("deleted_", "s", "erased tokens are deleted")):
        values = rows[[f"win_{prefix}comprehensiveness_{each}" for each in order]]
        margins = np.transpose([whiskers(values[name]) for name in values])
        axes.errorbar(values.mean(), range(len(order)), xerr=margins, fmt=marker, capsize=2, label=label)
    axes.axvline(0.5, color="black", linestyle="--", linewidth=1)
    axes.set_yticks(range(len(order)), [title_of(each) for each in order])
    axes.set(xlim=(0, 1), ylim=(-0.5, len(order) - 0.5))
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def agreement_of_readings(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Draw a matrix of the mean τ-b over texts for each pair of explanations."""
    readings = (re.escape(column_of(name)) for name in READINGS)
    pair = re.compile("tau_({0})_and_({0})".format("|".join(readings)))
    pairs = {found.groups(): rows[name].mean() for name in rows if (found := pair.fullmatch(name))}
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    square = np.array([[1.0 if a == b else pairs.get((a, b), pairs.get((b, a), np.nan)) for b in names] for a in names])
    figure, axes = _one_panel(0.55 * len(names) + 3, 0.45 * len(names) + 2)
    axes.imshow(square, cmap="RdBu_r", vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(square):
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(names)), [title_of(name) for name in names], rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(names)), [title_of(name) for name in names], fontsize=8)
    return figure
