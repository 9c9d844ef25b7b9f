"""Figures as files in the run folder: SVG for print and page, PNG for slides and loggers."""

import re
from collections.abc import Sequence
from pathlib import Path

from attest.report.figures import save_png_of_all_colours, to_svg
from attest.report.illustration import Illustration
from attest.runs.folder import RunFolder, write_atomically, write_text

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
