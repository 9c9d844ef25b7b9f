"""Figures as files in the run folder: SVG for print and page, PNG for slides and loggers."""

import re
from collections.abc import Sequence
from pathlib import Path

from attest.report.freshness import drawn_from
from attest.report.illustration import Illustration
from attest.runs.folder import RunFolder, write_atomically, write_text

DPI = 150
IDENTIFIER = re.compile(r'(\bid="|url\(#|href="#)')


def figure_file(folder: RunFolder, figure: Illustration, ending: str) -> Path:
    """Where a figure lies: ``figures/E2-permutation_by_max_attention.svg`` for the key ``E2/permutation_by_max_attention``."""
    return folder.figures / f"{figure.key.replace('/', '-')}.{ending}"


def save_figures(folder: RunFolder, figures: Sequence[Illustration]) -> list[tuple[Illustration, str]]:
    """Write every figure as SVG and PNG, remove those that are no longer drawn, and return each with its SVG text.

    A figure that lies there, drawn from the same files, is not drawn again.
    """
    made_from = drawn_from(folder)
    drawn = [(figure, _kept(folder, figure, made_from) or _save(folder, figure, made_from)) for figure in figures]
    current = {figure_file(folder, figure, ending) for figure in figures for ending in ("svg", "png")}
    for stale in {*folder.figures.glob("*.svg"), *folder.figures.glob("*.png")} - current:
        stale.unlink()
    return drawn


def _kept(folder: RunFolder, figure: Illustration, made_from: str) -> str:
    """The SVG text of a figure that was drawn from the same files; empty if there is none."""
    svg, png = (figure_file(folder, figure, ending) for ending in ("svg", "png"))
    if not (svg.is_file() and png.is_file()):
        return ""
    text = svg.read_text(encoding="utf-8")
    return text.removesuffix(made_from) if text.endswith(made_from) else ""


def _save(folder: RunFolder, figure: Illustration, made_from: str) -> str:
    from attest.report.figures import save_png_of_all_colours, to_svg  # with matplotlib, which a page of drawn figures spares

    svg = to_svg(figure.drawing)
    write_atomically(figure_file(folder, figure, "png"), lambda path: save_png_of_all_colours(figure.drawing, path, DPI))
    write_text(figure_file(folder, figure, "svg"), svg + made_from)  # last: it says that both are whole
    return svg


def as_svg(figures: Sequence[Illustration]) -> list[tuple[Illustration, str]]:
    """Every figure with its SVG text, no file written."""
    from attest.report.figures import to_svg

    return [(figure, to_svg(figure.drawing)) for figure in figures]


def embedded(drawn: Sequence[tuple[Illustration, str]]) -> list[tuple[Illustration, str]]:
    """The same with identifiers that are different for each figure, so that all can stand in one page."""
    return [(figure, IDENTIFIER.sub(rf"\g<1>f{number}-", svg)) for number, (figure, svg) in enumerate(drawn)]
