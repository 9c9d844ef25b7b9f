"""What tests in a real browser share.

They need Playwright (``pip install -e '.[browser]'``) and a Chromium on the path, and are skipped where one is missing. Tests
in Firefox use that of Playwright (``playwright install firefox``), or else the Firefox on the path, which cannot be told of
print or dark mode. The rules of accessibility need axe-core (``npm install axe-core``, or ``AXE_CORE=<axe.min.js>``).
"""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"))
WIDTHS = (390, 1400)
LETTERS = (
    "each => each.map(one => [one.getScreenCTM(), parseFloat(getComputedStyle(one).fontSize)])"
    ".map(([matrix, size]) => size * Math.hypot(matrix.b, matrix.d))"
)
"""How tall the letters of a text in an SVG are on the screen, in pixels; the matrix may turn them."""

in_a_browser = [
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed: pip install -e .[browser]"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path: apt install chromium"),
]
with_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: npm install axe-core, or AXE_CORE=<axe.min.js>")


def resize(page, width: int, height: int = 900) -> None:
    """Resize the page, and wait until it has its new size."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("width => document.documentElement.getBoundingClientRect().width === width", arg=width)


def tell_media(page, query: str, **features: str) -> None:
    """Emulate media features, which ``query`` then matches; skip the test in a Firefox that cannot be told."""
    page.emulate_media(**features)
    told = page.evaluate("query => matchMedia(query).matches", query)
    assert told or page.context.browser.browser_type.name == "firefox"
    if not told:
        pytest.skip(f"this Firefox cannot be told of media ({query}): playwright install firefox")
