"""CPU seconds of each figure of a run's report, and the share of it that two empty panels take.

python -m benchmarks.figures runs/planted/jw-bilstm-additive-softmax/seed0
"""

import os
import sys
from pathlib import Path

from matplotlib.figure import Figure

from attest.report.figures import save_png, to_svg
from attest.report.page import illustrations
from attest.runs.folder import RunFolder
from benchmarks.measuring import Cost


def main(run: RunFolder) -> None:
    """Print a line a figure: building, SVG, PNG, and the floor: two empty panels saved in both formats."""
    print(f"{'figure':<36} build   svg   png  floor's share")
    for each in illustrations(run):
        build, svg, png = Cost(), Cost(), Cost()
        figure = build.of(lambda each=each: each.drawing)
        costs = [build, *_saved(figure, svg, png)]
        total, floor = sum(cost.seconds for cost in costs), _floor(figure)
        print(f"{each.key:<36}" + "".join(f"{cost.seconds:6.3f}" for cost in costs) + f"{floor / total:10.0%}")


def _saved(figure: Figure, svg: Cost, png: Cost) -> tuple[Cost, Cost]:
    svg.of(lambda: to_svg(figure))
    png.of(lambda: save_png(figure, Path(os.devnull)))
    return svg, png


def _floor(figure: Figure) -> float:
    bare = Figure(figsize=figure.get_size_inches())
    bare.subplots(1, 2)
    return sum(cost.seconds for cost in _saved(bare, Cost(), Cost()))


if __name__ == "__main__":
    main(RunFolder(Path(sys.argv[1])))
