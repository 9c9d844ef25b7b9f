"""What tests in a real browser share.

They need Playwright (``pip install playwright``) and a Chromium on the path, and are skipped where one is missing; those in
Firefox need ``playwright install firefox``. The rules of accessibility need axe-core (``npm install axe-core``, or
``AXE_CORE=<axe.min.js>``).
"""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"))
WIDTHS = (390, 1400)

in_a_browser = [
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed: pip install playwright"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path: apt install chromium"),
]
with_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: npm install axe-core, or AXE_CORE=<axe.min.js>")
