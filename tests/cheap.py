"""What costs time and is not what a test is about."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from attest.report import page

DRAWN, SAVED = page._drawn, Figure.savefig
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


def draw_nothing(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Write empty pictures of figures, and make those of the evidence empty, too.

    Args:
        replace: sets an attribute.
    """
    replace(page, "_drawn", lambda drawing, rows, class_names: Figure())
    replace(Figure, "savefig", _save)


def draw_figures(replace: Callable[[Any, str, Any], None] = setattr) -> None:
    """Draw and write figures as they are, where they were left empty before."""
    replace(page, "_drawn", DRAWN)
    replace(Figure, "savefig", SAVED)


def _save(figure: Figure, file: Any, *, format: str | None = None, **options: Any) -> None:
    content = SVG if format == "svg" else PNG
    if isinstance(file, str | Path):
        Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        file.write(content)
