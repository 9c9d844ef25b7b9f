"""Draw the first code cells of the example notebook in a light and in a dark page: ``python -m docs.notebook_pictures``.

It needs a Chromium on the path, nbconvert and playwright (``pip install nbconvert playwright``).
"""

import io
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from docs.notebook import NOTEBOOKS

PICTURES = Path(__file__).parent
LAST = 3
"""The code cell, counted from 1, with which the pictures end."""
WIDTH, MARGIN, SCALE = 820, 16, 1.5
"""The width of the page and the room around the cells, in pixels of the page; pixels of the picture for each of them."""
COLOURS = 128


def main() -> None:
    """Write ``notebook-light.png`` and ``notebook-dark.png``.

    Raises:
        ImportError: nbconvert or playwright is missing.
    """
    from nbconvert import HTMLExporter  # only this command needs these two
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for theme in ("light", "dark"):
            exporter = HTMLExporter(theme=theme, exclude_input_prompt=True, exclude_output_prompt=True)
            written = Path(folder, f"{theme}.html")
            written.write_text(exporter.from_filename(str(NOTEBOOKS[0]))[0], encoding="utf-8")
            size = {"width": WIDTH, "height": 600}
            page = browser.new_page(viewport=size, device_scale_factor=SCALE, color_scheme=theme)
            page.goto(written.as_uri())
            cells = page.locator(".jp-CodeCell")
            first, last = (cells.nth(place - 1).bounding_box() for place in (1, LAST))
            high = last["y"] + last["height"] - first["y"] + 2 * MARGIN
            clip = {"x": 0, "y": first["y"] - MARGIN, "width": WIDTH, "height": high}
            taken = Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True))).convert("RGB")
            taken.quantize(COLOURS).save(PICTURES / f"notebook-{theme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
