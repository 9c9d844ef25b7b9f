"""A confidence sequence: an interval for the mean of a finite population, valid however many values were read.

For each candidate m for the mean, a gambler bets against m on every value. The bets are fair if the mean is m. The candidate
is excluded once the gambler's capital is 1/α times the initial capital. By Ville's inequality the true mean is excluded at any
time with probability α at most (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting", Section
5: without replacement).

Legend: K quantities, M candidates, n values read at once, N size of the population.
"""

import math

import numpy as np

Array = np.ndarray
MOST = 0.5
"""A bet on one value can lose at most this share of the gambler's capital, so the capital never becomes 0."""
FINEST = 1 << 15
"""The largest number of steps into which the range of a quantity is divided. The ends of the steps are the candidates for its
mean."""
AT_ONCE = 1 << 21
"""The most pairs of a value and a candidate for the mean that are computed at once, which bounds the memory."""


class MeanByBetting:
    """Confidence intervals for the means of K columns of numbers; the N instances are read in random order.

    The mean is over the defined values, which are not NaN. For a candidate m an undefined instance counts as m: then the mean
    over all N instances is m exactly if the mean over the defined values is m.

    Args:
        low, high: range of each quantity, ``(K,)``.
        size: N.
        step: distance between candidates, in units of the quantities; intervals are wider by up to two of these distances.
        level: α, the largest probability that the true mean of a quantity is excluded at any time.
        planned: the number of values for which the bets are chosen, if it is known before reading; None if reading may end at
            any number. Intervals hold after any number of values in both cases; after the planned number they are narrower.
    """

    def __init__(
        self, low: Array, high: Array, size: int, step: float, level: float = 0.05, planned: int | None = None
    ) -> None:
        self.low, self.reach = np.asarray(low, float), np.asarray(high, float) - np.asarray(low, float)
        self.size, self.level, self.planned = size, level, planned
        self.read = 0
        """n, the number of instances that have been read so far."""
        counts = np.minimum(np.ceil(self.reach / step), FINEST).astype(int) + 1
        self._candidates = [np.linspace(0.0, 1.0, count) for count in counts]
        self._capital = [np.zeros((2, count)) for count in counts]
        self._alive = [np.ones(count, dtype=bool) for count in counts]
        self._sums = np.zeros((3, len(counts)))  # of defined values, of their squared errors, and how many are undefined

    def update(self, values: Array) -> None:
        """Read the values of further instances, and narrow the intervals.

        Args:
            values: ``(n, K)``, in the order of reading; NaN where undefined.
        """
        scaled = (np.asarray(values, float) - self.low) / self.reach
        at_once = max(1, AT_ONCE // max(map(len, self._candidates), default=1))
        for start in range(0, len(scaled), at_once):
            part = scaled[start : start + at_once]
            for place in range(part.shape[1]):
                self._play(place, part[:, place])
            self.read += len(part)

    def _play(self, place: int, values: Array) -> None:
        """Bet against each candidate mean of one column: once on larger values, once on smaller values."""
        count = np.arange(self.read + 1, self.read + len(values) + 1, dtype=float)
        undefined = np.isnan(values)
        total, errors, gaps = self._sums[:, place]
        sums = total + np.cumsum(np.where(undefined, 0, values))
        missing = gaps + np.cumsum(undefined)
        means = (0.5 + sums) / (1 + count - missing)
        squares = errors + np.cumsum(np.where(undefined, 0, (values - means) ** 2))
        known = (0.25 + squares) / (1 + count - missing)
        variance = np.concatenate([[(0.25 + errors) / (1 + self.read - gaps)], known[:-1]])
        spread = count * np.log1p(count) if self.planned is None else self.planned
        stake = np.sqrt(2 * math.log(2 / self.level) / (variance * spread))
        self._sums[:, place] = sums[-1], squares[-1], missing[-1]
        before = np.concatenate([[total], sums[:-1]]), np.concatenate([[gaps], missing[:-1]])
        self._bet(place, values, stake, count, *before)

    def _bet(self, place: int, values: Array, stake: Array, count: Array, sums: Array, missing: Array) -> None:
        """Exclude each candidate mean of one column if the bets against this mean have won enough."""
        candidate = self._candidates[place]
        left = (self.size - count + 1)[:, None]
        expected = ((self.size - missing)[:, None] * candidate - sums[:, None]) / left
        possible = (expected >= -1e-12) & (expected <= 1 + 1e-12)
        expected = expected.clip(0, 1)
        moved = np.where(np.isnan(values)[:, None], candidate - expected, values[:, None] - expected)
        with np.errstate(divide="ignore"):
            up = np.minimum(stake[:, None], MOST / expected)
            down = np.minimum(stake[:, None], MOST / (1 - expected))
        gains = np.log1p(np.stack([up * moved, -down * moved]))
        capital = self._capital[place][:, None] + np.cumsum(gains, axis=1)
        ruled_out = capital.max(axis=0) - math.log(2) >= math.log(1 / self.level)
        self._alive[place] &= ~(ruled_out | ~possible).any(axis=0)
        self._capital[place] = capital[:, -1]

    @property
    def intervals(self) -> Array:
        """Return the confidence interval of each column's mean, its lower and its upper end, ``(K, 2)``."""
        return np.array([self._interval(place) for place in range(len(self._alive))]).reshape(-1, 2)

    def _interval(self, place: int) -> tuple[float, float]:
        candidates, (alive,) = self._candidates[place], self._alive[place].nonzero()
        total, _, gaps = self._sums[:, place]
        between = total / max(self.read - gaps, 1)  # where all are ruled out the mean lies between two candidates
        low, high = (candidates[alive[0]], candidates[alive[-1]]) if len(alive) else (between, between)
        apart = 1 / (len(candidates) - 1)
        bounds = max(low - apart, 0.0), min(high + apart, 1.0)
        least, greatest = (float(self.low[place] + bound * self.reach[place]) for bound in bounds)
        return least, greatest
