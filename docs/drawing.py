"""The drawing of the house, ``docs/house.svg``: rooms in rows, each of which imports from its own row and from those below."""

from html import escape
from pathlib import Path

HOUSE = Path(__file__).with_name("house.svg")
ROWS: tuple[dict[str, str], ...] = (
    {"cli": "commands, one file each"},
    {"api": "what is called from Python"},
    {
        "tables": "published tables",
        "runs": "train and evaluate",
        "report": "pages and figures",
        "callbacks": "experiments in a Trainer",
        "tracking": "W&B, CSV",
    },
    {"lightning_modules": "training", "judges": "attention known to be right or wrong"},
    {"datamodules": "corpora as batches"},
    {"pretrained": "Transformers of other people"},
    {"experiments": "E1 to E16, one file each with its spec"},
    {"networks": "encoders and classifiers", "measures": "distances, ranks, intervals"},
    {"attention": "scoring, projections, hook points"},
    {"compute": "memory, random draws"},
)
"""From top to bottom, each room with what it holds."""
PURE = {"judges", "pretrained", "experiments", "networks", "measures", "attention", "compute"}
"""Rooms that import no Lightning and no W&B."""
WIDTH, HEIGHT, GAP, TOP = 900, 46, 10, 34


def house() -> str:
    """The drawing as SVG text."""
    tall = TOP + len(ROWS) * (HEIGHT + GAP)
    boxes = "\n".join(_box(name, says, *place) for name, says, place in _places())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" font-family="sans-serif">\n'
        "<title>The rooms of Attest in ten rows; each imports from its own row and from those below</title>\n"
        f'<rect width="{WIDTH}" height="{tall}" fill="#ffffff"/>\n'
        '<text x="10" y="22" font-size="14" fill="#222222">Imports go down or stay in a row. '
        "Thick border: no Lightning, no W&amp;B.</text>\n"
        f"{boxes}\n</svg>\n"
    )


def _places() -> list[tuple[str, str, tuple[float, float, float]]]:
    """Every room with what it holds and the left end, top and width of its box."""
    return [
        (name, says, (GAP + place * (WIDTH - GAP) / len(row), TOP + number * (HEIGHT + GAP), (WIDTH - GAP) / len(row) - GAP))
        for number, row in enumerate(ROWS)
        for place, (name, says) in enumerate(row.items())
    ]


def _box(name: str, says: str, left: float, top: float, width: float) -> str:
    border, middle = (3 if name in PURE else 1), left + width / 2
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{HEIGHT}" rx="5" fill="#eef1fb" stroke="#303f9f" '
        f'stroke-width="{border}"/>\n'
        f'<text x="{middle:g}" y="{top + 19:g}" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#1a237e">{name}</text>\n'
        f'<text x="{middle:g}" y="{top + 37:g}" text-anchor="middle" font-size="13" fill="#222222">{escape(says)}</text>'
    )
