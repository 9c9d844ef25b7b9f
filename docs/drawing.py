"""The drawing of the house, ``docs/house.svg``: the floors of the contract in ``pyproject.toml``, from top to bottom."""

import tomllib
from html import escape
from pathlib import Path

HOUSE = Path(__file__).with_name("house.svg")
PROJECT = HOUSE.parents[1] / "pyproject.toml"
HOLDS = {
    "app": "commands, Python functions, and what they do",
    "callbacks": "experiments and checkpoints in a Trainer",
    "judges": "networks whose attention is right or wrong",
    "replication": "published tables, reproduced",
    "report": "pages, figures, tables, W&B",
    "lightning_modules": "how each kind of model is trained",
    "runs": "a run on disk: what was asked, its name, its folder",
    "evidence": "the engine: experiments measured batch by batch",
    "experiments": "E1, E2 and so on, one file each",
    "datamodules": "corpora as batches",
    "models": "networks, Transformers of other people, and how they are observed",
    "core": "attention, measures, memory, random draws, errors",
}
"""What each room holds."""
PURE = {"judges", "evidence", "experiments", "models", "core"}
"""Rooms that import no Lightning and no W&B."""
WIDTH, HEIGHT, GAP, TOP = 900, 46, 10, 34


def floors() -> list[list[str]]:
    """Return the rooms of each floor, from top to bottom, as the contract of import-linter lists them."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [layer.split(" | ") for layer in layers]


def house() -> str:
    """Return the drawing as SVG text."""
    rows = floors()
    tall = TOP + len(rows) * (HEIGHT + GAP)
    boxes = "\n".join(
        _box(room, GAP + place * (WIDTH - GAP) / len(row), TOP + number * (HEIGHT + GAP), (WIDTH - GAP) / len(row) - GAP)
        for number, row in enumerate(rows)
        for place, room in enumerate(row)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" font-family="sans-serif">\n'
        f"<title>The rooms of Attest on {len(rows)} floors; each imports from the floors below</title>\n"
        f'<rect width="{WIDTH}" height="{tall}" fill="#ffffff"/>\n'
        '<text x="10" y="22" font-size="14" fill="#222222">Imports go down. '
        "Thick border: no Lightning, no W&amp;B.</text>\n"
        f"{boxes}\n</svg>\n"
    )


def _box(name: str, left: float, top: float, width: float) -> str:
    border, middle, holds = (3 if name in PURE else 1), left + width / 2, escape(HOLDS[name])
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{HEIGHT}" rx="5" fill="#eef1fb" stroke="#303f9f" '
        f'stroke-width="{border}"/>\n'
        f'<text x="{middle:g}" y="{top + 19:g}" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#1a237e">{name}</text>\n'
        f'<text x="{middle:g}" y="{top + 37:g}" text-anchor="middle" font-size="13" fill="#222222">{holds}</text>'
    )
