"""Figures, each drawn by a function of its data alone; the same objects go into the report and to W&B.

Colours are Okabe and Ito's, distinguishable with any colour vision; classes differ by place or label as well.
"""

import io
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from attest.report.panels import Panels

CLASS_COLOURS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
ATTENTION_BINS = ("[0, .25)", "[.25, .5)", "[.5, .75)", "[.75, 1]")

PANEL, TITLE = 3.2, 20
"""Inches of a panel a class, and characters that fit a line above it."""
COLOURS = 256
"""Of a PNG that has few."""
COMPRESSION = 3
"""Of a PNG that has all its colours: zlib's usual level takes a third longer, for a tenth fewer bytes."""
RASTERISED = 400
"""From so many points on, a scatter is a picture within the drawing: a mark each would weigh megabytes."""


def to_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element; equal data give equal text."""
    settle(figure)
    with matplotlib.rc_context({"svg.hashsalt": "attest", "svg.fonttype": "none"}):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save_png(figure: Figure, path: Path, dpi: int, **options: Any) -> None:
    """The figure as a PNG of at most 256 colours, a third of the bytes of one of all colours.

    Args:
        figure: any.
        path: of the file, whatever its ending.
        dpi: pixels an inch.
        options: of matplotlib's ``savefig``.
    """
    buffer = io.BytesIO()
    with _letters_as_designed():
        figure.savefig(buffer, format="png", dpi=dpi, **options)
    with Image.open(buffer) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, format="PNG", optimize=True)


def save_png_of_all_colours(figure: Figure, path: Path, dpi: int) -> None:
    """The figure as a PNG with every colour of its maps, in a third of the time of ``save_png``.

    Args:
        figure: any.
        path: of the file, whatever its ending.
        dpi: pixels an inch.
    """
    with _letters_as_designed():
        figure.savefig(path, format="png", dpi=dpi, pil_kwargs={"compress_level": COMPRESSION})


def settle(figure: Figure) -> None:
    """Solve the layout of a figure once and keep it; saving then draws once, where an open layout draws twice a format."""
    layout = figure.get_layout_engine()
    if layout is not None:
        with _letters_as_designed():
            layout.execute(figure)
        figure.set_layout_engine(None)


def _letters_as_designed() -> AbstractContextManager[None]:
    """Letters have the shape and width of the font, as in an SVG: fitting them to pixels takes a fifth of a PNG's time."""
    return matplotlib.rc_context({"text.hinting": "no_hinting"})


def learning_curves(epochs: Sequence[dict[str, float]]) -> Figure:
    """Losses and validation scores against epochs.

    Args:
        epochs: entries with ``epoch`` and any of ``train/loss``, ``validation/loss``, ``validation/<score>``.
    """
    figure = Figure(figsize=(8, 2.8), layout=Panels())
    losses, scores = figure.subplots(1, 2)
    at = [epoch["epoch"] + 1 for epoch in epochs]
    for axes, names in (
        (losses, ("train/loss", "validation/loss")),
        (scores, ("validation/accuracy", "validation/f1", "validation/chunk_f1", "validation/roc_auc")),
    ):
        known = [name for name in names if any(name in epoch for epoch in epochs)]
        for colour, name in zip(CLASS_COLOURS, known, strict=False):
            axes.plot(at, [epoch.get(name, np.nan) for epoch in epochs], marker="o", markersize=3, color=colour, label=name)
        axes.set_xlabel("epoch")
        if known:
            axes.legend(frameon=False, fontsize=8)
    losses.set_ylabel("loss")
    scores.set_ylabel("score")
    return figure


def permutation_violins(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Jain & Wallace's Figure 3: median TVD under permutation, by largest attention weight, one panel a predicted class.

    Args:
        rows: ``predicted``, ``max_attention`` and ``tvd_median`` of each instance.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "median TVD over permutations")
    edges = np.clip((rows["max_attention"].to_numpy() * len(ATTENTION_BINS)).astype(int), 0, len(ATTENTION_BINS) - 1)
    for k, axes in enumerate(panels):
        mine = rows["predicted"].to_numpy() == k
        groups = [rows["tvd_median"].to_numpy()[mine & (edges == b)] for b in range(len(ATTENTION_BINS))]
        _violins(axes, groups, CLASS_COLOURS[k % len(CLASS_COLOURS)])
        labels = [f"{name}  n={len(group)}" for name, group in zip(ATTENTION_BINS, groups, strict=True)]
        name_rows(axes, labels, first=1)
        axes.set_xlim(0, 1)
    panels[0].set_ylabel("largest attention weight")
    return figure


def tau_histograms(rows: pd.DataFrame, column: str, class_names: Sequence[str]) -> Figure:
    """Jain & Wallace's Figure 2: distribution of Kendall's tau-b over instances, one panel a predicted class.

    Args:
        rows: ``predicted`` and the column of each instance; NaN is left out.
        column: which tau.
        class_names: in class order.
    """
    figure, panels = _panel_per_class(class_names, "Kendall's τ-b with attention")
    for k, axes in enumerate(panels):
        taus = rows.loc[rows["predicted"] == k, column].dropna()
        axes.hist(taus, bins=np.linspace(-1, 1, 41).tolist(), histtype="stepfilled", color=CLASS_COLOURS[k % 8])
        axes.axvline(0, color="black", linewidth=0.8)
        if len(taus):
            axes.axvline(taus.mean(), color="black", linestyle="--", linewidth=1)
    panels[0].set_ylabel("instances")
    return figure


def panels_width(class_names: Sequence[str]) -> float:
    """Inches of a figure with a panel a class: as many as a panel needs for the labels of its ticks."""
    return max(8.0, PANEL * len(class_names))


def class_title(name: str, beside: str = "") -> str:
    """Heads the panel of a class, in as many lines as fit above it; a dollar sign begins no formula."""
    lines = textwrap.wrap(f"predicted: {name}{beside}", TITLE)
    return "\n".join(lines).replace("$", r"\$")


def _panel_per_class(class_names: Sequence[str], xlabel: str) -> tuple[Figure, list[Axes]]:
    """All panels share their label along x: side by side, long ones run into one another."""
    figure = Figure(figsize=(panels_width(class_names), 2.8), layout=Panels())
    panels = list(np.atleast_1d(figure.subplots(1, len(class_names), sharex=True)))
    for name, axes in zip(class_names, panels, strict=True):
        axes.set_title(class_title(name), fontsize=10)
    figure.supxlabel(xlabel, fontsize=10)
    return figure, panels


def name_rows(axes: Axes, names: Sequence[str], first: int = 0, named: bool = True) -> None:
    """Name the rows of a panel, and give them the same places in every panel, whatever is drawn in it.

    Args:
        axes: the panel; its rows lie at ``first``, ``first`` + 1, …
        names: of the rows.
        first: place of the first row.
        named: whether the names are written; panels beside the first leave them out.
    """
    axes.set_yticks(range(first, first + len(names)), names if named else [""] * len(names))
    axes.set_ylim(first - 0.5, first + len(names) - 0.5)


def _violins(axes: Axes, groups: Sequence[np.ndarray], colour: str) -> None:
    """Horizontal violins at 1, 2, …; a group too small for a density is drawn as its points."""
    for place, group in enumerate(groups, start=1):
        if len(group) >= 5 and np.ptp(group) > 0:
            parts = axes.violinplot(group, [place], orientation="horizontal", widths=0.8, showmedians=True)
            for body in parts["bodies"]:  # type: ignore[attr-defined]
                body.set_facecolor(colour)
                body.set_alpha(0.6)
            for line in ("cmedians", "cbars", "cmins", "cmaxes"):
                parts[line].set_color("black")
                parts[line].set_linewidth(1.0)
        else:
            axes.plot(group, [place] * len(group), "o", color=colour, markersize=3)


def scatter(axes: Axes, x: pd.Series, y: pd.Series, colour: str) -> None:
    """A dot an instance."""
    axes.plot(x, y, ".", markersize=2, color=colour, rasterized=len(x) > RASTERISED)
