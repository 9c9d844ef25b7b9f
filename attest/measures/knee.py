"""The knee of a curve: up to there one quantity is gained at little cost of the other."""

import numpy as np


def knee(x: np.ndarray, y: np.ndarray) -> int | None:
    """The point of a rising curve that is farthest from its chord, on the side of small y (Satopaa et al. 2011, Kneedle).

    Both axes are scaled to [0, 1] between the ends of the curve, so units do not matter.

    Args:
        x, y: ``(N,)``, in any order; what is gained and what it costs.
    Returns:
        Which point; None where fewer than three differ in x, where the curve does not rise, or where none lies below the
        chord, so that there is no bend.
    """
    order = np.argsort(x, kind="stable")
    along, up = np.asarray(x, float)[order], np.asarray(y, float)[order]
    if len(np.unique(along)) < 3 or up[-1] <= up[0]:
        return None
    below = (along - along[0]) / (along[-1] - along[0]) - (up - up[0]) / (up[-1] - up[0])
    best = int(below.argmax())
    return int(order[best]) if below[best] > 1e-9 else None
