"""Areas between curves of scores while tokens are erased."""

from collections.abc import Sequence

import numpy as np


def area_between(shares: Sequence[float], upper: Sequence[float], lower: Sequence[float]) -> float:
    """By trapezoids, signed: above 0 where ``upper`` lies above ``lower`` on the whole.

    Args:
        shares: along x, rising.
        upper, lower: scores, as many.
    """
    return float(np.trapezoid(np.subtract(upper, lower), shares))


def racu(shares: Sequence[float], random: Sequence[float], explained: Sequence[float]) -> float:
    """Relative area between curves (Madsen et al. 2022, §4.3): what an explanation gains on random erasure, of all there is.

    The most there is to gain is to fall at once to the score of texts that are erased whole.

    Args:
        shares: of tokens erased, rising to the last, where all are.
        random, explained: scores, erased at random and as an explanation ranks them.
    Returns:
        At most about 1, 0 for random, below 0 for worse; NaN where erasing everything costs nothing.
    """
    most = area_between(shares, random, [random[-1]] * len(random))
    return area_between(shares, random, explained) / most if most > 0 else float("nan")
