"""Figures, each drawn by a function of its data alone; the same objects go into the report and to W&B.

Colours are Okabe and Ito's, distinguishable with any colour vision; classes differ by place or label as well.

Names of classes as a figure can draw them: its font has no emoji, and of few scripts the letters.

Where the panels of a figure stand: as large as the words around them allow, which are measured once.
"""

import io
import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox, ScaledTranslation
from PIL import Image

from attest.runs.folder import RunFolder, write_atomically, write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


EDGE, GAP = 3 / 72, 8 / 72
"""Inches between words and the edge of the figure, and between the words of neighbours."""
SMALLEST = 0.2
"""Inches of a panel; where less would be left, all stay where they are."""


class Panels(LayoutEngine):
    """A layout of one grid of panels of one size in half the time of matplotlib's ``constrained``, which measures twice.

    Legends, words within panels and colour bars take no room. Words of the figure itself stand along its lower edge. Ticks
    and labels of axes stay as they were measured: no drawing looks for their places again.
    """

    _adjust_compatible = True
    _colorbar_gridspec = True

    def execute(self, fig: Figure) -> None:
        """Measure the words around every panel and place the panels.

        Args:
            fig: what ``Figure.subplots`` has divided.
        """
        renderer = FigureCanvasAgg(fig).get_renderer()
        places = [place for axes in fig.axes if (place := axes.get_subplotspec()) is not None]
        around = np.zeros((4, *places[0].get_gridspec().get_geometry()))
        for axes, place in zip(fig.axes, places, strict=True):
            around[:, place.rowspan.start, place.colspan.start] = _around(axes, renderer)
            _hold(axes.xaxis, axes)
            _hold(axes.yaxis, axes)
        left, right, above, below = around / fig.dpi
        written = max((text.get_window_extent(renderer).y1 for text in fig.texts), default=0.0) / fig.dpi
        below[-1] += written + (EDGE if written else 0)
        across = _spread(fig.get_figwidth(), left.max(axis=0), right.max(axis=0))
        down = _spread(fig.get_figheight(), above.max(axis=1), below.max(axis=1))
        if across and down:
            fig.subplots_adjust(across[0], 1 - down[1], across[1], 1 - down[0], across[2], down[2])


def _around(axes: Axes, renderer: RendererBase) -> tuple[float, float, float, float]:
    """Pixels that words take to the left, to the right, above and below."""
    axes.apply_aspect()
    words = (axis.get_tightbbox(renderer, for_layout_only=True) for axis in (axes.xaxis, axes.yaxis))
    box, panel = Bbox.union([axes.bbox, *filter(None, words)]), axes.bbox
    return panel.x0 - box.x0, box.x1 - panel.x1, max(box.y1, _top(axes, renderer)) - panel.y1, panel.y0 - box.y0


def _top(axes: Axes, renderer: RendererBase) -> float:
    """Where the title ends; matplotlib lifts it by the power of ten of the axis below if it would run into that."""
    if not axes.get_title():
        return -np.inf
    title, power = (text.get_window_extent(renderer) for text in (axes.title, axes.yaxis.get_offset_text()))
    lifted = power.width > 0 and title.overlaps(power)
    return float(title.y1 + lifted * (power.y1 - axes.bbox.y1))


def _hold(axis: Axis, axes: Axes) -> None:
    """Ticks where they are, and the label as far from the panel as it is."""
    axis.set_major_locator(FixedLocator(axis.get_majorticklocs().tolist()))
    x, y = axis.label.get_position()
    inches = axes.figure.dpi_scale_trans
    if axis is axes.xaxis:
        where = axes.transAxes + ScaledTranslation(0, (y - axes.bbox.y0) / axes.figure.dpi, inches)
        axis.set_label_coords(0.5, 0, transform=where)
    else:
        where = axes.transAxes + ScaledTranslation((x - axes.bbox.x0) / axes.figure.dpi, 0, inches)
        axis.set_label_coords(0, 0.5, transform=where)


def _spread(size: float, before: np.ndarray, after: np.ndarray) -> tuple[float, float, float] | None:
    """Where the first panel begins and the last one ends, in shares of the size, and the gap in shares of a panel."""
    gap = float((after[:-1] + before[1:]).max(initial=-GAP)) + GAP
    start, end = before[0] + EDGE, size - after[-1] - EDGE
    panel = (end - start - gap * (len(before) - 1)) / len(before)
    return (start / size, end / size, gap / panel) if panel > SMALLEST else None


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


JOINING = "\u200d\ufe0e\ufe0f"
"""Signs that join emoji or choose their look, and have none of their own."""
PANELS = 8
"""Classes that have a panel each; a figure of more takes minutes and shows nothing."""
SYMBOLS = {"So", "Sk"}
"""Categories of emoji, which have a name that says what they show."""


def drawable(names: Sequence[str]) -> list[str]:
    """Each name as it is where the font has all its signs; else emoji by their Unicode names, and other scripts by number.

    Args:
        names: in class order.
    Returns:
        As many names, all different where the given ones are: ``[fire]`` for 🔥, ``class 2`` for the third class if its
        script is not in the font.
    """
    drawn = [name if _in_font(name) else _spelled(name) or f"class {k}" for k, name in enumerate(names)]
    often = Counter(drawn)
    return [
        f"class {k}" if often[own] > 1 and own != name else own for k, (own, name) in enumerate(zip(drawn, names, strict=True))
    ]


def legend(names: Sequence[str]) -> str:
    """Sentences on classes that figures leave out, and on names that they draw otherwise; empty where there is none."""
    others = [f"{own} is {name}" for own, name in zip(drawable(names), names, strict=True) if own != name]
    few = f"Of {len(names):,} classes, figures have a panel for each of the {PANELS} that are predicted most."
    unsigned = f"Figures have no signs for some names of classes: {'; '.join(others)}."
    return " ".join([*([few] if len(names) > PANELS else []), *([unsigned] if others else [])])


def most_predicted(rows: "pd.DataFrame", names: Sequence[str]) -> "tuple[pd.DataFrame, list[str]]":
    """The classes that get a panel each, numbered from 0, and the rows of these: all up to ``PANELS`` classes.

    Args:
        rows: ``predicted`` of each instance.
        names: in class order.
    """
    if len(names) <= PANELS:
        return rows, list(names)
    often = np.bincount(rows["predicted"].astype(int), minlength=len(names))
    kept = sorted(np.argsort(-often, kind="stable")[:PANELS].tolist())
    mine = rows[rows["predicted"].isin(kept)]
    return mine.assign(predicted=mine["predicted"].map({k: place for place, k in enumerate(kept)})), [names[k] for k in kept]


@cache
def _font_has(sign: str) -> bool:
    if sign.isascii() and sign.isprintable():
        return True  # in every font that figures are drawn with
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return get_font(findfont(FontProperties())).get_char_index(ord(sign)) > 0


def _in_font(name: str) -> bool:
    return all(_font_has(sign) for sign in name)


def _spelled(name: str) -> str | None:
    """Emoji as words; None where a sign that the font lacks is no emoji."""
    signs = [sign for sign in name if sign not in JOINING]
    lacking = [sign for sign in signs if not _font_has(sign)]
    if any(unicodedata.category(sign) not in SYMBOLS for sign in lacking):
        return None
    return "".join(f"[{unicodedata.name(sign, 'sign').lower()}]" if sign in lacking else sign for sign in signs)


def drawn_by(function: str, *data: Any) -> Callable[[], "Figure"]:
    """Draws with a function of this folder, whose file, and matplotlib with it, is imported when a figure is drawn.

    Args:
        function: its file and name: ``figures.learning_curves``.
        data: what it takes.
    """
    return partial(_drawn, *function.split("."), *data)


def _drawn(file: str, name: str, *data: Any) -> "Figure":
    return cast("Figure", getattr(import_module(f"attest.report.{file}"), name)(*data))


@dataclass(frozen=True)
class Illustration:
    """A figure, what it shows and how to read it; drawn when it is first looked at, as many ask for its name alone."""

    key: str
    """Where W&B files it: experiment and name."""
    title: str
    caption: str
    draw: Callable[[], "Figure"]

    @cached_property
    def drawing(self) -> "Figure":
        """The figure, the same object every time."""
        return self.draw()


DPI = 150
LIST, LISTED = "drawn.txt", re.compile(r"[\w.-]+\.(svg|png)")
"""Beside the figures, the names of those that this command has drawn, and what such a name may be."""
IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


def figure_file(folder: RunFolder, figure: Illustration, ending: str) -> Path:
    """Where a figure lies: ``figures/E2-permutation_by_max_attention.svg`` for the key ``E2/permutation_by_max_attention``."""
    return folder.figures / f"{figure.key.replace('/', '-')}.{ending}"


def save_figures(folder: RunFolder, figures: Sequence[Illustration]) -> list[tuple[Illustration, str]]:
    """Write every figure as SVG and PNG, remove those that were drawn earlier, and return each with its SVG text.

    Files that are on no list of ours stay.

    Raises:
        AttestError: the folder of the figures is a link, behind which somebody else's files may lie.
    """
    folder.require_no_links()
    drawn = [(figure, _save(folder, figure)) for figure in figures]
    _remove_stale(folder.figures, {figure_file(folder, each, ending).name for each in figures for ending in ("svg", "png")})
    return drawn


def _remove_stale(figures: Path, current: set[str]) -> None:
    listed = figures / LIST
    earlier = set(listed.read_text(encoding="utf-8").splitlines()) if listed.is_file() else set()
    for stale in filter(LISTED.fullmatch, earlier - current):  # a list may be a stranger's
        (figures / stale).unlink(missing_ok=True)
    if earlier != current:
        write_text(listed, "\n".join(sorted(current)))


def _save(folder: RunFolder, figure: Illustration) -> str:
    svg = to_svg(figure.drawing)
    write_atomically(figure_file(folder, figure, "png"), lambda path: save_png_of_all_colours(figure.drawing, path, DPI))
    write_text(figure_file(folder, figure, "svg"), svg)
    return svg


def as_svg(figures: Sequence[Illustration]) -> list[tuple[Illustration, str]]:
    """Every figure with its SVG text, no file written."""
    return [(figure, to_svg(figure.drawing)) for figure in figures]


def embedded(drawn: Sequence[tuple[Illustration, str]]) -> list[tuple[Illustration, str]]:
    """The same with identifiers that are different for each figure, so that all can stand in one page."""
    return [(figure, IDENTIFIER.sub(rf"\g<1>f{number}-", svg)) for number, (figure, svg) in enumerate(drawn)]
