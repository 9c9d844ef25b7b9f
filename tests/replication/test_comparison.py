"""The rules by which numbers and claims are judged, against independent witnesses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attest.core.measures import OverSeeds
from attest.replication.comparison import interval_90, judge_claim, judge_number, margin, p_above
from attest.runs.published_tables import PublishedColumn

TAU = PublishedColumn("τ", "key", margin=0.1)
ACCURACY = PublishedColumn("accuracy", "key", margin=0.03, neutral=0.5)


@pytest.mark.parametrize(
    ("values", "published", "verdict"),
    [
        ((0.38, 0.39, 0.40), 0.40, "near"),
        ((0.30, 0.35, 0.40), 0.40, "perhaps near"),  # 0.27 to 0.43, the margin ends at 0.3
        ((0.10, 0.30, 0.50), 0.65, "perhaps different"),  # the spread reaches far, and proves nothing
        ((0.10, 0.12, 0.14), 0.40, "different"),
        ((-0.02, -0.01, -0.03), 0.05, "different"),  # no effect is not near to a small one
        ((0.38, 0.40), 0.40, "two seeds: cannot say"),
        ((0.40,), 0.40, "one seed: cannot say"),
        ((0.40, 0.40, 0.40), 0.40, "perhaps near"),  # no spread to test with
        ((0.9, 0.9, 0.9), 0.40, "perhaps different"),
    ],
)
def test_a_number_by_the_rule(values, published, verdict):
    assert judge_number(OverSeeds.of(values), published, TAU) == verdict


def test_nearness_is_two_one_sided_tests():
    """Schuirmann 1987: the verdict changes where the larger of the two p passes 0.05, p by scipy."""
    values = np.array([0.31, 0.36, 0.35, 0.30])
    for published in np.linspace(0.2, 0.5, 301):
        low, high = (published + side * margin(published, TAU) for side in (-1, 1))
        p = max(
            stats.ttest_1samp(values, low, alternative="greater").pvalue,
            stats.ttest_1samp(values, high, alternative="less").pvalue,
        )
        assert (judge_number(OverSeeds.of(values), published, TAU) == "near") == (p < 0.05)
        beyond = min(
            stats.ttest_1samp(values, low, alternative="less").pvalue,
            stats.ttest_1samp(values, high, alternative="greater").pvalue,
        )
        assert (judge_number(OverSeeds.of(values), published, TAU) == "different") == (beyond < 0.05)


@given(st.floats(-1, 1), st.floats(1e-4, 1), st.floats(1, 9), st.floats(0.05, 1))
def test_a_wider_spread_never_helps(mean, std, wider, published):
    ranks = {"near": 3, "perhaps near": 2, "perhaps different": 1, "different": 0}
    narrow, wide = (judge_number(OverSeeds(mean, each, 3), published, TAU) for each in (std, std * wider))
    within = abs(mean - published) <= margin(published, TAU)
    assert ranks[wide] <= ranks[narrow] if within else ranks[wide] <= ranks["perhaps different"]


def test_a_wider_spread_took_a_number_in_that_now_stays_out():
    """τ of 0.206 ± 0.095 for 0.35 counted as replicated because its seeds lie far apart."""
    assert judge_number(OverSeeds(0.206, 0.095, 3), 0.35, TAU) == "perhaps different"


@pytest.mark.parametrize(
    ("published", "column", "allowed"),
    [
        (0.40, TAU, 0.1),
        (0.06, TAU, 0.03),  # else none at all would be near
        (-0.06, TAU, 0.03),
        (0.0, TAU, 0.1),
        (0.82, ACCURACY, 0.03),
        (0.536, ACCURACY, 0.018),  # half of what it lies above chance
    ],
)
def test_a_margin_is_at_most_half_of_the_distance_from_no_effect(published, column, allowed):
    assert margin(published, column) == pytest.approx(allowed)


def test_the_interval_is_that_of_scipy():
    values = (0.1, 0.25, 0.3, 0.2)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert interval_90(OverSeeds.of(values)) == pytest.approx((theirs.low, theirs.high))
    assert all(map(math.isnan, interval_90(OverSeeds.of((0.1, 0.2)))))


SURE = [0.001, 0.01, 0.02]


@pytest.mark.parametrize(
    ("expect", "differences", "p_values", "verdict"),
    [
        ("less", [-1.0, -1.1, -0.9], SURE, "holds"),
        ("less", [-1.0, -1.1, -0.9], [0.001, 0.2, 0.001], "holds for the mean, not in the texts of every seed"),
        ("less", [-1.0, -1.1, -0.9], [0.001, 0.001], "holds over seeds, texts not tested"),  # the evidence of one is missing
        ("less", [-1.0, -1.1, -0.9], [], "holds over seeds, texts not tested"),  # nothing to pair
        ("less", [-0.06, -0.03, -0.01], [], "perhaps"),  # p = 0.07
        ("less", [1.0, 1.1, 0.9], SURE, "contradicted"),
        ("less", [0.5, -0.4, 0.3], SURE, "perhaps not"),
        ("greater", [1.0, 1.1, 0.9], SURE, "holds"),
        ("greater", [-1.0, -1.1, -0.9], SURE, "contradicted"),
        ("greater", [1.0, 1.1], [0.001, 0.001], "two seeds: cannot say"),
        ("greater", [1.0], [0.001], "one seed: cannot say"),
        ("greater", [1.0, 1.0, 1.0], SURE, "perhaps"),  # no spread to test with
        ("equal", [0.01, -0.02, 0.0], [], "holds"),
        ("equal", [0.0], [], "one seed: cannot say"),
        ("equal", [0.2, -0.2, 0.0], [], "perhaps"),
        ("equal", [0.0, 0.3, 0.2], [], "perhaps not"),
        ("equal", [0.2, 0.21, 0.22], [], "contradicted"),
    ],
)
def test_a_claim_by_the_rule(expect, differences, p_values, verdict):
    assert judge_claim(expect, OverSeeds.of(differences), p_values, allowed=0.1) == verdict


@pytest.mark.parametrize(
    ("expect", "differences", "p_values", "together", "verdict"),
    [
        ("greater", [1.0, 1.1, 0.9], [0.004] * 3, 11, "holds"),
        ("greater", [1.0, 1.1, 0.9], [0.004, 0.02, 0.004], 11, "holds for the mean, not in the texts of every seed"),
        ("greater", [0.10, 0.12, 0.17], [0.004] * 3, 1, "holds"),  # p = 0.013
        ("greater", [0.10, 0.12, 0.17], [0.004] * 3, 11, "perhaps"),
        ("greater", [-0.10, -0.12, -0.17], [0.9] * 3, 11, "perhaps not"),
        ("equal", [0.01, -0.04, 0.04], [], 1, "holds"),
        ("equal", [0.01, -0.04, 0.04], [], 11, "perhaps"),
        ("equal", [0.19, 0.21, 0.25], [], 1, "contradicted"),
        ("equal", [0.19, 0.21, 0.25], [], 11, "perhaps not"),
    ],
)
def test_claims_that_are_judged_together_must_be_clearer(expect, differences, p_values, together, verdict):
    assert judge_claim(expect, OverSeeds.of(differences), p_values, allowed=0.1, together=together) == verdict


def test_a_claim_that_cannot_be_paired_is_tested_over_seeds():
    """-0.033 ± 0.027 over three seeds, all on one side, was replicated."""
    difference = OverSeeds(-0.033, 0.027, 3)
    assert p_above(-difference, 0) == pytest.approx(0.084, abs=5e-3)
    assert judge_claim("less", difference, [], 0.03) == "perhaps"
