"""The drawing of the projections in two dimensions, ``docs/projections.svg``: attention of the first of two scores."""

from pathlib import Path

import torch

from attest.core.attention import Entmax15, Projection, Softmax, Sparsemax

DRAWING = Path(__file__).with_name("projections.svg")
PROJECTIONS: dict[str, Projection] = {"softmax": Softmax(), "1.5-entmax": Entmax15(), "sparsemax": Sparsemax()}
REACH, STEPS = 4.0, 161
"""The largest difference of the scores that is drawn, and the number of points of a curve."""
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 380, 60, 20, 740, 320
"""Of the drawing, and the edges of the frame of the curves, in px."""
STYLE = """
.paper { fill: #ffffff } .word { fill: #222222 } .line { stroke: #c4c4c4 } path { fill: none; stroke-width: 2.5 }
.softmax { stroke: #303f9f } .entmax { stroke: #b23c00 } .sparsemax { stroke: #00695c }
@media (prefers-color-scheme: dark) {
  .paper { fill: #1e1e24 } .word { fill: #e6e6e6 } .line { stroke: #55555e }
  .softmax { stroke: #9fa8da } .entmax { stroke: #ffab7a } .sparsemax { stroke: #80cbc4 }
}"""
COLOURS = {"softmax": "softmax", "1.5-entmax": "entmax", "sparsemax": "sparsemax"}
DASHES = {"softmax": "", "1.5-entmax": ' stroke-dasharray="9 4"', "sparsemax": ' stroke-dasharray="2 4"'}
"""So that the curves can also be told apart without colours."""


def first_of_two(projection: Projection, differences: torch.Tensor) -> torch.Tensor:
    """Return the attention ``(N,)`` to the first of two tokens, by how far its score lies above the other's, ``(N,)``."""
    scores = torch.stack([differences, torch.zeros_like(differences)], dim=-1)
    return projection(scores, torch.ones_like(scores, dtype=torch.bool))[:, 0]


def projections() -> str:
    """Return the drawing as SVG text."""
    differences = torch.linspace(-REACH, REACH, STEPS, dtype=torch.float64)
    across, up = (RIGHT - LEFT) / (2 * REACH), BOTTOM - TOP
    marks = []
    for weight in (0.0, 0.5, 1.0):
        height = BOTTOM - weight * up
        marks.append(f'<line class="line" x1="{LEFT}" x2="{RIGHT}" y1="{height:g}" y2="{height:g}"/>')
        marks.append(f'<text class="word" x="{LEFT - 8}" y="{height + 5:g}" text-anchor="end">{weight:g}</text>')
    for difference in range(-int(REACH), int(REACH) + 1):
        place = LEFT + (difference + REACH) * across
        marks.append(f'<line class="line" x1="{place:g}" x2="{place:g}" y1="{BOTTOM}" y2="{BOTTOM + 5}"/>')
        shown = str(difference).replace("-", "−")
        marks.append(f'<text class="word" x="{place:g}" y="{BOTTOM + 22}" text-anchor="middle">{shown}</text>')
    for number, (name, projection) in enumerate(PROJECTIONS.items()):
        weights = first_of_two(projection, differences).tolist()
        points = " ".join(
            f"{LEFT + (difference + REACH) * across:.1f},{BOTTOM - weight * up:.1f}"
            for difference, weight in zip(differences.tolist(), weights, strict=True)
        )
        drawn = f'class="{COLOURS[name]}"{DASHES[name]}'
        height = TOP + 34 + 24 * number
        marks.append(f'<path {drawn} d="M {points}"/>')
        marks.append(f'<path {drawn} d="M {LEFT + 20},{height} h 40"/>')
        marks.append(f'<text class="word" x="{LEFT + 70}" y="{height + 5}">{name}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
        'font-size="15">\n'
        "<title>Attention to the first of two tokens under softmax, 1.5-entmax and sparsemax</title>\n"
        f"<style>{STYLE}\n</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>\n'
        + "\n".join(marks)
        + f'\n<text class="word" x="{(LEFT + RIGHT) / 2:g}" y="{HEIGHT - 12}" text-anchor="middle">'
        "score of the first token − score of the second</text>\n"
        f'<text class="word" x="18" y="{(TOP + BOTTOM) / 2:g}" text-anchor="middle" '
        f'transform="rotate(-90 18 {(TOP + BOTTOM) / 2:g})">attention to the first token</text>\n</svg>\n'
    )
