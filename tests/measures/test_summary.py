"""The summary's interval against scipy's bootstrap, and what is left out of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.measures import summarise


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_interval_agrees_with_the_bootstrap(seed, draw):
    generator = np.random.default_rng(seed)
    values = getattr(generator, draw)(size=400)
    summary = summarise(pd.DataFrame({"x": values}), by=None)
    interval = stats.bootstrap((values,), np.mean, n_resamples=4000, rng=generator).confidence_interval
    width = interval.high - interval.low
    assert abs(summary["x/ci_low"] - interval.low) < 0.1 * width
    assert abs(summary["x/ci_high"] - interval.high) < 0.1 * width


@pytest.mark.parametrize("ones", [1, 40, 399])
def test_interval_of_a_share_stays_between_0_and_1_and_holds_what_it_promises(ones):
    """Shares at the ends of the interval would give as many ones, or as few, with a chance of 2.5 %."""
    summary = summarise(pd.DataFrame({"x": np.arange(400) < ones}), by=None)
    low, high = summary["x/ci_low"], summary["x/ci_high"]
    assert 0 < low < summary["x/mean"] < high < 1
    np.testing.assert_allclose([stats.binom.sf(ones - 1, 400, low), stats.binom.cdf(ones, 400, high)], 0.025)


def test_undefined_values_are_counted_and_left_out():
    rows = pd.DataFrame({"x": [1.0, np.nan, 3.0], "predicted": [0, 0, 1], "id": [7, 8, 9], "tokens": [["a"], ["b"], ["c"]]})
    summary = summarise(rows)
    assert summary["x/mean"] == 2
    assert summary["x/nan"] == 1
    assert summary["x/mean/predicted_0"] == 1
    assert not any(name.startswith(("id", "tokens", "predicted/")) for name in summary)


def test_all_undefined_is_undefined():
    summary = summarise(pd.DataFrame({"x": [np.nan, np.nan]}), by=None)
    assert np.isnan(summary["x/mean"])
    assert summary["x/nan"] == 2
