"""The summary's interval against scipy's bootstrap, and what is left out of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.core.measures import summarise


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


@pytest.mark.parametrize("values", [np.zeros(400), np.ones(400)])
@pytest.mark.parametrize(
    "kind", [("same", bool), ("same", "boolean"), ("significant_gradient_inputs", float), ("both", float)]
)
def test_a_share_of_none_or_all_has_an_interval_too(values, kind):
    """One end is the share itself; a share at the other end would show no exception with a chance of 2.5 %."""
    name, dtype = kind
    summary = summarise(pd.DataFrame({name: pd.Series(values).astype(dtype)}), by=None)
    share, ends = summary[f"{name}/mean"], (summary[f"{name}/ci_low"], summary[f"{name}/ci_high"])
    assert share in ends
    np.testing.assert_allclose((1 - abs(ends[1] - ends[0])) ** 400, 0.025)


@pytest.mark.whole("many repetitions")
@pytest.mark.parametrize("alike", [0.0, 0.6, 0.9])
def test_intervals_are_over_texts_where_several_rows_are_about_one_text(alike):
    """40 texts with up to six labels each; rows of a text that share its luck were taken for independent."""
    draw, held = np.random.default_rng(0), {"tvd_median": 0, "flipped": 0}
    texts = np.repeat(np.arange(40), draw.integers(1, 7, 40))
    for _ in range(300):
        shared, own = draw.uniform(size=40)[texts], draw.uniform(size=len(texts))
        luck = np.where(draw.uniform(size=len(texts)) < alike, shared, own)
        rows = pd.DataFrame({"text": texts, "asked": "joy", "tvd_median": luck, "flipped": luck < 0.3})
        summary = summarise(rows)
        for name, truth in (("tvd_median", 0.5), ("flipped", 0.3)):
            held[name] += summary[f"{name}/ci_low"] <= truth <= summary[f"{name}/ci_high"]
    assert all(0.92 <= count / 300 <= 0.985 for count in held.values()), held


def test_a_row_for_each_text_has_the_interval_that_it_had():
    rows = pd.DataFrame({"tvd_median": [0.1, 0.7, 0.2, 0.4], "won": [0.0, 1.0, 1.0, 0.5]})
    asked = rows.assign(text=[3, 1, 2, 0], asked="joy")
    plain = summarise(rows)
    assert plain == {key: value for key, value in summarise(asked).items() if "asked" not in key}


def test_a_table_of_an_older_version_keeps_undefined_instances_out_of_the_share():
    summary = summarise(pd.DataFrame({"only_top_support": [0.0, np.nan, 0.0, 0.0]}), by=None)
    np.testing.assert_allclose(summary["only_top_support/ci_high"], 1 - 0.025 ** (1 / 3))


@pytest.mark.whole("many repetitions")
@pytest.mark.parametrize("texts", [4, 16, 60])
@pytest.mark.parametrize("concentration", [(9, 0.5), (5, 5), (0.5, 0.1)])
def test_interval_of_shares_holds_the_mean_and_stays_between_0_and_1(texts, concentration):
    """Win rates over 20 random sets; Student's t left [0, 1] and held the mean near 0.95 of 4 texts 80 times in 100."""
    draw, held = np.random.default_rng(0), 0
    for _ in range(400):
        shares = draw.binomial(20, draw.beta(*concentration, texts)) / 20
        summary = summarise(pd.DataFrame({"win_deleted_comprehensiveness_attention": shares}), by=None)
        low, high = (summary[f"win_deleted_comprehensiveness_attention/{end}"] for end in ("ci_low", "ci_high"))
        assert 0 <= low <= high <= 1
        held += low <= concentration[0] / sum(concentration) <= high
    assert held / 400 >= 0.9


def test_interval_of_shares_far_from_0_and_1_is_nearly_students():
    shares = np.random.default_rng(0).binomial(20, 0.5, 60) / 20
    summary = summarise(pd.DataFrame({"flipped": shares}), by=None)
    theirs = stats.t.interval(0.95, 59, shares.mean(), stats.sem(shares))
    np.testing.assert_allclose((summary["flipped/ci_low"], summary["flipped/ci_high"]), theirs, atol=0.001)


def test_shares_that_are_all_alike_have_no_width_within_and_one_text_no_interval():
    for values, expected in (([0.5] * 4, [0.5, 0.5]), ([0.5], [np.nan, np.nan]), ([1.0] * 4, [0.025 ** (1 / 4), 1])):
        summary = summarise(pd.DataFrame({"won": values}), by=None)
        np.testing.assert_allclose([summary["won/ci_low"], summary["won/ci_high"]], expected)


@pytest.mark.parametrize(
    ("name", "values"), [("tvd_median", [0.0] * 9), ("excess_product", [0.0, 1.0] * 5), ("trivial", [1.0] * 9)]
)
def test_zeros_and_ones_that_measure_something_else_are_no_share(name, values):
    """Distances, counts and shares of heads: Student's t, whatever values they happen to take."""
    summary = summarise(pd.DataFrame({name: values}), by=None)
    mean, low, high = (summary[f"{name}/{key}"] for key in ("mean", "ci_low", "ci_high"))
    np.testing.assert_allclose([low, high], mean + np.array([-1, 1]) * stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))


def test_a_column_of_numbers_that_only_shares_the_name_is_summarised():
    assert summarise(pd.DataFrame({"both": [2.0, 5.0]}), by=None)["both/mean"] == 3.5


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
