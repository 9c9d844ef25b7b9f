"""What costs time and is not what a test is about."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from attest.report import illustrations

DRAWN, TO_SVG, TO_PNG = illustrations._drawn, FigureCanvasSVG.print_svg, FigureCanvasAgg.print_png
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def draw_nothing(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Write empty pictures of figures, and make those of the evidence empty, too.

    Args:
        replace: sets an attribute.
    """
    replace(illustrations, "_drawn", lambda drawing, rows, class_names: Figure())
    replace(FigureCanvasSVG, "print_svg", _svg)
    replace(FigureCanvasAgg, "print_png", _png)


def draw_figures(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Draw and write figures as they are, where they were left empty before."""
    replace(illustrations, "_drawn", DRAWN)
    replace(FigureCanvasSVG, "print_svg", TO_SVG)
    replace(FigureCanvasAgg, "print_png", TO_PNG)


def _svg(canvas: FigureCanvasSVG, file: Any, **options: Any) -> None:
    file.write(SVG)


def _png(canvas: FigureCanvasAgg, file: Any, **options: Any) -> None:
    if isinstance(file, str | Path):
        Path(file).write_bytes(PNG)
    else:  # by which matplotlib asks how large texts are, before it writes anything
        TO_PNG(canvas, file, **options)
