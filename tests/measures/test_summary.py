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
