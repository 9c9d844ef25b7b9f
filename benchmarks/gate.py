"""How often the gate passes what it must not pass, and how near a bound it decides.

    python -m benchmarks.gate

Of five shapes of data in [0, 1], 2,000 simulated corpora each, whose texts are drawn from all texts like them. The bound is
the mean of all these, so that "mean > bound" does not hold and every pass is wrong. The gate may be asked after each text. The
ordinary test, Student's t at 5 %, is asked after each 25 texts, and once, after the last. Then: half the width of the interval
that decides, the median of several corpora, beside that of Student's t.
"""

import argparse
import math

import numpy as np
from scipy import special

from attest.report.gate import ERROR, Sample
from benchmarks.stopping import SHAPES

LOOK = 25
SIZES = (100, 400, 1600)
MEANS = dict(zip(SHAPES, (2 / 7, 0.5, 0.05, 0.5, 0.5), strict=True))
"""Of all texts of a shape."""
TRIES = 25
"""Corpora of which a distance is the median."""


def passes_of_student(values: np.ndarray, bound: float) -> np.ndarray:
    """Return after which looks Student's t, one-sided at 5 %, says that the mean is above the bound; bool, a look each."""
    counts = np.arange(LOOK, len(values) + 1, LOOK)
    means = values.cumsum()[counts - 1] / counts
    squares = (values**2).cumsum()[counts - 1] / counts
    errors = np.sqrt(np.maximum(squares - means**2, 0) / (counts - 1))
    return means - special.stdtrit(counts - 1, 1 - ERROR) * errors > bound


def false_passes(name: str, corpora: int, texts: int) -> tuple[int, int, int]:
    """Return how many corpora pass wrongly: by the gate after any text, by Student's t at any look, and at its last look."""
    draw, bound = np.random.default_rng(0), MEANS[name]
    gate = often = once = 0
    for _ in range(corpora):
        values = SHAPES[name](draw, texts)
        low, _ = Sample(values, 0.0, 1.0, texts, texts).interval()  # lies above the bound if it did so after any text
        looks = passes_of_student(values, bound)
        gate, often, once = gate + (low > bound), often + bool(looks.any()), once + bool(looks[-1])
    return gate, often, once


def distances(name: str, texts: int) -> tuple[float, float]:
    """Return how far a bound has to be from the mean to be decided: by the gate, and by Student's t asked once."""
    draw, gate, student = np.random.default_rng(1), [], []
    for _ in range(TRIES):
        values = SHAPES[name](draw, texts)
        low, high = Sample(values, 0.0, 1.0, texts, texts).interval()
        gate.append((high - low) / 2)
        student.append(special.stdtrit(texts - 1, 1 - ERROR) * values.std(ddof=1) / math.sqrt(texts))
    return float(np.median(gate)), float(np.median(student))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=int, default=2000, help="of each shape")
    parser.add_argument("--texts", type=int, default=600, help="of each corpus")
    typed = parser.parse_args()
    print(f"{'wrong passes of ' + str(typed.corpora):24} {'gate':>8} {'t, often':>8} {'t, once':>8}")
    found = []
    for name in SHAPES:
        found.append(false_passes(name, typed.corpora, typed.texts))
        print(f"{name:24} " + " ".join(f"{count:8}" for count in found[-1]), flush=True)
    total = np.array(found).sum(axis=0)
    print(f"{'of ' + str(typed.corpora * len(SHAPES)):24} " + " ".join(f"{count:8}" for count in total))
    print(f"\n{'decided from ± on':24} " + " ".join(f"{texts:>6} texts: gate, t" for texts in SIZES))
    for name in SHAPES:
        pairs = [distances(name, texts) for texts in SIZES]
        print(f"{name:24} " + " ".join(f"{gate:14.4f} {student:.4f}" for gate, student in pairs), flush=True)


if __name__ == "__main__":
    main()
