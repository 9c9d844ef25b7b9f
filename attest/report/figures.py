"""Save the figures of a run in its folder, and put them into its page. Colours are those of Okabe and Ito, which people with
any colour vision can tell apart.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import matplotlib
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from attest.runs.folder import RunFolder, write_atomically, write_text

CLASS_COLOURS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
DPI = 150


def to_svg(figure: Figure) -> str:
    """Return the figure as an ``<svg>`` element; the same data give the same text."""
    with matplotlib.rc_context({"svg.hashsalt": "attest", "svg.fonttype": "none"}):
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # savefig draws twice
    text = HOVERED.sub(r"<g><title>\1</title>", buffer.getvalue())
    return text[text.index("<svg") :]


HOVERED = re.compile(r'<g id="hover:([^"]*)">')


def on_hover(artist: Artist, text: str) -> None:
    """Attach a text to a part of a figure; a browser shows it when the pointer rests on this part."""
    artist.set_gid(f"hover:{text}")


def save_png(figure: Figure, path: Path) -> None:
    """Save the figure as a PNG with ``DPI`` pixels per inch, whatever the ending of the file name."""
    figure.dpi = DPI
    FigureCanvasAgg(figure).print_png(path)  # savefig draws twice


@dataclass(frozen=True)
class Illustration:
    """A figure with its title and its caption, drawn when it is first used."""

    key: str
    """The name of the figure in W&B: the id of an experiment, and the figure's own name."""
    title: str
    caption: str
    draw: Callable[[], Figure]

    @cached_property
    def drawing(self) -> Figure:
        """Return the figure; it is drawn only once, and later calls return the same object."""
        figure = self.draw()
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        return figure

    @property
    def broad(self) -> bool:
        """Return whether the figure is too wide to stand beside its caption."""
        return self.drawing.get_figwidth() > COLUMN

    @cached_property
    def svg(self) -> str:
        """Return the figure as an ``<svg>`` element."""
        return to_svg(self.drawing)


COLUMN = 8.5
"""The width in inches of the page's column for figures. A wider figure does not stand beside its caption."""
LIST, LISTED = "drawn.txt", re.compile(r"[\w.-]+\.(svg|png)")
"""The first: the file that lists the figures that Attest has drawn in this folder. The second matches the file names in that
list that a later command may delete."""
IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


def figure_file(folder: RunFolder, figure: Illustration, ending: str) -> Path:
    """Return the path of a figure file, such as ``figures/E2-permutation_by_max_attention.svg``."""
    return folder.figures / f"{figure.key.replace('/', '-')}.{ending}"


def save_figures(folder: RunFolder, figures: Sequence[Illustration], others: Mapping[str, str] | None = None) -> None:
    """Write every figure as SVG and PNG into the folder of a run, and delete its earlier figures.

    Args:
        others: SVG texts of other pictures, by the name of the file.
    """
    folder.require_no_links()
    for figure in figures:
        write_text(figure_file(folder, figure, "svg"), figure.svg)
        write_atomically(figure_file(folder, figure, "png"), partial(save_png, figure.drawing))
    others = others or {}
    for name, text in others.items():
        write_text(folder.figures / name, text)
    listed = folder.figures / LIST
    current = {figure_file(folder, each, ending).name for each in figures for ending in ("svg", "png")} | {*others}
    earlier = set(listed.read_text(encoding="utf-8").splitlines()) if listed.is_file() else set()
    for stale in filter(LISTED.fullmatch, earlier - current):  # the list may come from a stranger
        (folder.figures / stale).unlink(missing_ok=True)
    if earlier != current:
        write_text(listed, "\n".join(sorted(current)))


def embedded(figures: Sequence[Illustration]) -> list[tuple[Illustration, str]]:
    """Return every figure with its SVG text, whose identifiers are unique, so that one page can contain all figures."""
    return [(figure, IDENTIFIER.sub(rf"\g<1>f{number}-", figure.svg)) for number, figure in enumerate(figures)]
