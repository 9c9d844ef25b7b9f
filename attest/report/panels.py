"""Where the panels of a figure stand: as large as the words around them allow, which are measured once."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox, ScaledTranslation

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
