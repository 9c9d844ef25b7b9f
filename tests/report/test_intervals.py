"""Intervals of means, and whether they lie apart."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.core.measures import OverSeeds, standard_errors
from attest.report.collection import Interval, over_seeds, over_texts, whiskers, within


def test_of_seeds_it_is_students():
    values = [0.1, 0.4, 0.3]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert over_seeds(OverSeeds.of(values), "E1/tau_gradient_inputs") == pytest.approx((np.mean(values), low, high))
    assert over_seeds(OverSeeds.of(values), "E7/tvd") == pytest.approx((np.mean(values), 0, high)), "a TVD is at least 0"
    assert over_seeds(OverSeeds.of(values[:1]), "E1/tau_gradient_inputs") is None


@pytest.mark.parametrize("lacking", ["mean", "ci_low", "ci_high"])
def test_of_texts_it_is_the_summarys_where_it_is_whole(lacking):
    summary = {"E7/jsd/mean": 0.2, "E7/jsd/ci_low": 0.1, "E7/jsd/ci_high": 0.4}
    assert over_texts(summary, "E7/jsd") == Interval(0.2, 0.1, 0.4)
    assert over_texts(summary | {f"E7/jsd/{lacking}": math.nan}, "E7/jsd") is None
    assert over_texts(summary | {f"E7/jsd/{lacking}": None}, "E7/jsd") is None


@pytest.mark.parametrize(("low", "high", "side"), [(0.3, 0.4, 1), (0.2, 0.4, 0), (0.0, 0.05, -1), (0, 1, 0)])
def test_they_lie_apart_where_they_do_not_even_touch(low, high, side):
    here, there = Interval((low + high) / 2, low, high), Interval(0.15, 0.1, 0.2)
    assert here.apart(there) == side == -there.apart(here)


@pytest.mark.parametrize(("settings", "seeds"), [(2, 3), (6, 3), (18, 3), (18, 10)])
def test_settings_that_are_equal_rarely_lie_apart(settings, seeds):
    """However many are compared; plain 95 % intervals part a third of the numbers of 18 equal settings."""
    numbers = np.random.default_rng(0).normal(size=(4000, settings, seeds))
    means, spread = numbers.mean(-1), numbers.std(-1, ddof=1) / np.sqrt(seeds)
    widened, plain = (standard_errors(seeds - 1, compared=each) * spread for each in (settings, 2))
    wrongly = ((means - widened).max(1) > (means + widened).min(1)).mean()
    assert wrongly <= 0.06
    assert settings < 18 or ((means - plain).max(1) > (means + plain).min(1)).mean() > 0.25


def test_intervals_widen_with_the_number_of_settings_on_both_sides():
    summary = {"E7/jsd/mean": 0.2, "E7/jsd/ci_low": 0.1, "E7/jsd/ci_high": 0.4}
    factor = stats.studentized_range.ppf(0.95, 18, math.inf) / 2 / stats.norm.ppf(0.975)
    mean, low, high = over_texts(summary, "E7/jsd", 18)
    assert (mean, low, high) == pytest.approx((0.2, 0.2 - 0.1 * factor, 0.2 + 0.2 * factor))
    assert over_texts(summary, "E7/jsd", 3) == pytest.approx(over_texts(summary, "E7/jsd")), "never narrower than one alone"
    narrow, wide = (over_seeds(OverSeeds.of([0.1, 0.4, 0.3]), "mine/of_no_spec", compared) for compared in (2, 18))
    wider = standard_errors(2, compared=18) / standard_errors(2)
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(wider)


def test_no_interval_reaches_beyond_what_its_number_can_be():
    """Widened for 18 settings, a share's interval ended at 1.02; a number without an end keeps its own."""
    summary = {"E2/flipped/mean": 0.9, "E2/flipped/ci_low": 0.8, "E2/flipped/ci_high": 0.98}
    assert over_texts(summary, "E2/flipped", 18).high == 1
    assert within("E2/tvd_median", -0.01, 0.4) == (0, 0.4)
    assert within("E1/tau_gradient_inputs", -1.2, 1.1) == (-1, 1)
    assert within("E12/excess_attention", 0.5, 3.0) == (0.5, 3.0)
    assert within("mine/of_no_spec", -2.0, 3.0) == (-2.0, 3.0)


def test_whiskers_are_the_interval_of_shares_and_leave_undefined_texts_out():
    below, above = whiskers(pd.Series([1.0, 1.0, 1.0, np.nan, 1.0]))
    assert (1 - below, above) == (pytest.approx(0.025 ** (1 / 4)), 0)
    assert whiskers(pd.Series([np.nan])) == (0, 0)


def test_a_setting_alone_waits_for_no_distribution_of_several(monkeypatch):
    monkeypatch.setattr("scipy.stats.studentized_range", None)
    errors = standard_errors.__wrapped__
    assert errors(99) == errors(99, compared=1) == pytest.approx(stats.t.ppf(0.975, 99))
