"""The rules by which something replicates, and the paired tests, against independent witnesses."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.tables.comparison import Ours, difference_in_spreads, in_pairs, judge_claim, judge_number, paired_p
from attest.tables.definition import Column, Quoted

TAU = Column("τ", "key", tolerance=0.1, neutral=0.0)


@pytest.mark.parametrize(
    ("values", "published", "verdict"),
    [
        ((0.30, 0.32, 0.34), "0.40", "replicated"),  # within the tolerance
        ((0.10, 0.30, 0.50), "0.65", "replicated"),  # within two standard deviations, 0.4
        ((0.10, 0.50), "0.65", "same direction"),  # two seeds have no spread to speak of
        ((0.10, 0.12, 0.14), "0.40", "same direction"),
        ((-0.02, -0.01, -0.03), "0.05", "not replicated"),  # near, but on the other side
        ((0.15,), "0.26", "same direction"),  # one seed has no spread
    ],
)
def test_a_number_by_the_rule(values, published, verdict):
    assert judge_number(Ours(values), Quoted.parse(published), TAU) == verdict


def test_without_a_neutral_value_there_is_no_direction():
    column = Column("share", "key", tolerance=0.1)
    assert judge_number(Ours((0.1,)), Quoted.parse("0.4"), column) == "not replicated"
    assert judge_number(Ours((0.3001,)), Quoted.parse("0.4"), column) == "replicated"


def test_the_difference_in_units_of_the_spread_over_seeds():
    ours = Ours((0.1, 0.2, 0.3))
    assert difference_in_spreads(ours, 0.0) == pytest.approx(2.0)
    assert np.isnan(difference_in_spreads(Ours((0.1,)), 0.0))
    assert np.isnan(difference_in_spreads(Ours((0.1, 0.1)), 0.0))


@pytest.mark.parametrize(
    ("expect", "left", "right", "p_values", "verdict"),
    [
        ("less", [1, 2], [2, 3], [0.01, 0.01], "replicated"),
        ("less", [1, 2], [2, 3], [0.01, 0.2], "same direction"),  # one seed is not significant
        ("less", [1, 2], [2, 3], [0.01, np.nan], "same direction"),  # the evidence of one seed is missing
        ("less", [1], [2], [0.01], "same direction"),  # one seed alone
        ("less", [1, 3.5], [2, 3], [], "same direction"),  # one seed says otherwise
        ("greater", [1, 2], [2, 3], [0.01, 0.01], "not replicated"),
        ("greater", [2, 3], [1, 2], [], "replicated"),  # nothing to pair
        ("equal", [1.0, 1.0], [1.05, 0.97], [], "replicated"),
        ("equal", [1.0, 1.0], [1.2, 1.1], [], "not replicated"),
    ],
)
def test_a_claim_by_the_rule(expect, left, right, p_values, verdict):
    assert judge_claim(expect, left, right, p_values, tolerance=0.1) == verdict


def test_decisions_are_tested_by_the_sign_test_on_those_that_differ():
    draw = np.random.default_rng(0)
    left, right = (pd.Series(draw.integers(0, 2, 200).astype(float)) for _ in range(2))
    only_left, only_right = int((left > right).sum()), int((left < right).sum())
    tail = stats.binom.cdf(min(only_left, only_right), only_left + only_right, 0.5)
    assert paired_p(in_pairs(left, right)) == pytest.approx(min(1.0, 2 * tail))


def test_values_are_paired_by_instance_and_undefined_ones_left_out():
    draw = np.random.default_rng(1)
    left = pd.Series(draw.normal(size=60), index=range(60))
    right = left + draw.normal(0.4, 0.5, size=60)
    both = paired_p(in_pairs(left, right))
    assert both == pytest.approx(stats.wilcoxon(left, right).pvalue)
    beyond = pd.concat([right.sample(frac=1, random_state=0), pd.Series([5.0, 6.0], index=[98, 99])])
    assert paired_p(in_pairs(pd.concat([left, pd.Series([np.nan], index=[98])]), beyond)) == pytest.approx(both)
    assert paired_p(in_pairs(left, left)) == 1.0
    assert np.isnan(paired_p(in_pairs(left, right.set_axis(range(100, 160)))))
