"""Intervals of means, and whether they lie apart."""

import math

import numpy as np
import pytest
from scipy import stats

from attest.report.intervals import Interval, over_seeds, over_texts


def test_of_seeds_it_is_students():
    values = [0.1, 0.4, 0.3]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert over_seeds(values) == pytest.approx((np.mean(values), low, high))
    assert over_seeds(values[:1]) is None


@pytest.mark.parametrize("lacking", ["mean", "ci_low", "ci_high"])
def test_of_texts_it_is_the_summarys_where_it_is_whole(lacking):
    summary = {"E7/jsd/mean": 0.2, "E7/jsd/ci_low": 0.1, "E7/jsd/ci_high": 0.4}
    assert over_texts(summary, "E7/jsd") == Interval(0.2, 0.1, 0.4)
    assert over_texts(summary | {f"E7/jsd/{lacking}": math.nan}, "E7/jsd") is None
    assert over_texts(summary | {f"E7/jsd/{lacking}": None}, "E7/jsd") is None


@pytest.mark.parametrize(
    ("low", "high", "side", "gap"), [(0.3, 0.4, 1, 0.1), (0.2, 0.4, 0, 0), (0.0, 0.05, -1, 0.05), (0, 1, 0, 0)]
)
def test_they_lie_apart_where_they_do_not_even_touch(low, high, side, gap):
    here, there = Interval((low + high) / 2, low, high), Interval(0.15, 0.1, 0.2)
    assert here.apart(there) == side == -there.apart(here)
    assert here.gap(there) == there.gap(here) == pytest.approx(gap)
