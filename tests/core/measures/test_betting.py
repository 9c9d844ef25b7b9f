"""A mean is bracketed at every look, in the stated share of runs; and candidates fall as a loop by hand has it."""

import math

import numpy as np
import pytest

from attest.core.measures.betting import MeanByBetting

SHAPES = {
    "skewed": lambda draw, size: draw.beta(2, 5, size),
    "rare": lambda draw, size: (draw.random(size) < 0.05).astype(float),
    "even": lambda draw, size: (draw.random(size) < 0.5).astype(float),
    "constant": lambda draw, size: np.full(size, 0.3),
}


def sequence(size: int, step: float = 0.005, low: float = 0.0, high: float = 1.0) -> MeanByBetting:
    return MeanByBetting(np.array([low]), np.array([high]), size, step)


@pytest.mark.whole("many repetitions")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_is_ever_left_out_in_at_most_one_run_of_twenty(shape):
    draw, missed = np.random.default_rng(0), 0
    for _ in range(100):
        values = draw.permutation(SHAPES[shape](draw, 300))
        found, inside = sequence(300), True
        for part in np.array_split(values, 10):
            found.update(part[:, None])
            ((low, high),) = found.intervals
            inside &= low - 1e-9 <= values.mean() <= high + 1e-9
        missed += not inside
    assert missed <= 5


def by_hand(values: list[float], size: int, candidate: float) -> bool:
    """Whether a candidate is ever ruled out, one value after the other."""
    up = down = 1.0
    total, seen, errors = 0.0, 0, 0.0
    for read, value in enumerate(values, start=1):
        expected = (size * candidate - total - (read - 1 - seen) * candidate) / (size - read + 1)
        if not -1e-12 <= expected <= 1 + 1e-12:
            return True
        expected = min(max(expected, 0.0), 1.0)
        stake = math.sqrt(2 * math.log(2 / 0.05) / ((0.25 + errors) / (1 + seen) * read * math.log(1 + read)))
        moved = (candidate if math.isnan(value) else value) - expected
        up *= 1 + min(stake, 0.5 / expected if expected else math.inf) * moved
        down *= 1 - min(stake, 0.5 / (1 - expected) if expected < 1 else math.inf) * moved
        if not math.isnan(value):
            total, seen = total + value, seen + 1
            errors += (value - (0.5 + total) / (1 + seen)) ** 2
        if max(up, down) / 2 >= 1 / 0.05:
            return True
    return False


@pytest.mark.parametrize("undefined", [0.0, 0.2])
def test_candidates_are_ruled_out_as_by_hand_however_values_are_parted(undefined):
    draw = np.random.default_rng(1)
    values = draw.beta(2, 5, 60)
    values[draw.random(60) < undefined] = np.nan
    found = sequence(80, 0.002)
    for part in np.split(values, [1, 20, 21]):
        found.update(part[:, None])
    kept = [candidate for candidate in np.linspace(0, 1, 501) if not by_hand(values.tolist(), 80, candidate)]
    assert found.intervals[0].tolist() == pytest.approx([max(kept[0] - 0.002, 0), min(kept[-1] + 0.002, 1)])


def test_at_the_end_the_mean_is_known_undefined_values_or_not():
    values = np.random.default_rng(2).uniform(-1, 1, 400)
    values[::7] = np.nan
    found = sequence(400, 0.01, -1, 1)
    found.update(values[:, None])
    ((low, high),) = found.intervals
    assert low <= np.nanmean(values) <= high
    assert high - low <= 0.05


def test_less_spread_is_known_sooner():
    draw = np.random.default_rng(3)
    wide, narrow = (MeanByBetting(np.zeros(1), np.ones(1), 2000, 0.002) for _ in range(2))
    wide.update(draw.random((500, 1)).round())
    narrow.update(0.5 + 0.02 * draw.random((500, 1)))
    widths = [float(found.intervals[0, 1] - found.intervals[0, 0]) for found in (wide, narrow)]
    assert widths[1] < widths[0] / 2


def test_what_is_ruled_out_stays_so():
    found, widths = sequence(40_000), []
    for values in (np.zeros(300), np.ones(20)):
        found.update(values[:, None])
        widths.append(found.intervals[0])
    assert widths[1][1] <= widths[0][1] < 0.1
