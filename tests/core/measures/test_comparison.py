"""Comparing two settings: McNemar's test against counting all coins, signed ranks against all signs, seed spreads by hand."""

import itertools
from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attest.core.measures import OverSeeds, in_seed_spreads, mcnemar, signed_rank


def as_decisions(only_first: int, only_second: int, both: int = 3, neither: int = 2) -> tuple[np.ndarray, np.ndarray]:
    first = [True] * only_first + [False] * only_second + [True] * both + [False] * neither
    second = [False] * only_first + [True] * only_second + [True] * both + [False] * neither
    return np.array(first), np.array(second)


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_p_value_is_the_share_of_coin_tosses_at_least_as_uneven(only_first, only_second):
    tosses = only_first + only_second
    as_uneven = [k for k in range(tosses + 1) if abs(k - tosses / 2) >= abs(only_first - tosses / 2)]
    expected = sum(comb(tosses, k) for k in as_uneven) / 2**tosses
    test = mcnemar(*as_decisions(only_first, only_second))
    assert (test.only_first, test.only_second) == (only_first, only_second)
    assert test.p_value == pytest.approx(expected)


def test_instances_on_which_both_agree_do_not_matter():
    few, many = (mcnemar(*as_decisions(9, 1, both, both)) for both in (0, 5000))
    assert few == many
    assert few.p_value == pytest.approx(2 * (1 + 10) / 2**10)


def spreads_between(first, second):
    return in_seed_spreads(OverSeeds.of(first), OverSeeds.of(second))


def test_difference_in_seed_spreads():
    assert spreads_between([1.0, 3.0], [6.0, 8.0]) == pytest.approx(-5 / 2**0.5)
    assert spreads_between([0.0, 2.0, 4.0], [0.0, 0.0]) == pytest.approx(2 / (4 / 2) ** 0.5)
    assert isnan(spreads_between([1.0], [2.0, 3.0])), "one seed has no spread"
    assert isnan(spreads_between([1.0, 1.0], [2.0, 2.0])), "nothing to measure by"


def test_signed_ranks_equal_scipy_and_all_signs_tried():
    """Without ties and zeros the p-value of few pairs is exact: the share of signs whose rank sum is at least as uneven."""
    first, second = np.array([3.0, 1.0, 7.5, 4.0, 9.0, 0.0]), np.array([2.5, 3.0, 3.5, 1.0, 2.0, 1.5])
    difference = first - second
    ranks = np.abs(difference).argsort().argsort() + 1
    balances = [np.dot(ranks, signs) for signs in itertools.product((-1, 1), repeat=6)]
    found = signed_rank(first, second)
    as_uneven = np.mean(np.abs(balances) >= abs(ranks @ np.sign(difference)))
    assert found.p_value == pytest.approx(as_uneven) == pytest.approx(stats.wilcoxon(first, second).pvalue)
    assert (found.only_first, found.only_second, found.favours, found.differing) == (4, 2, 1, 6)
    assert signed_rank(second, first).favours == -1


@pytest.mark.whole("many repetitions")
@given(st.lists(st.integers(-6, 6).filter(bool), min_size=1, max_size=9))
def test_where_differences_tie_all_signs_of_the_shared_ranks_count(differences):
    ranks = stats.rankdata(np.abs(differences))
    balances = [ranks @ signs for signs in itertools.product((-1, 1), repeat=len(ranks))]
    as_uneven = np.mean(np.abs(balances) >= abs(ranks @ np.sign(differences)) - 1e-9)
    assert signed_rank(np.array(differences), np.zeros(len(differences))).p_value == pytest.approx(as_uneven)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_direction_is_that_of_the_first(alternative):
    first, second = np.array([9.0, 8, 7, 6, 9]), np.array([1.0, 1, 6, 8, 3])
    expected = stats.wilcoxon(first - second, alternative=alternative)
    assert signed_rank(first, second, alternative).p_value == pytest.approx(expected.pvalue)
    decided = mcnemar(*as_decisions(4, 1), alternative)
    assert decided.p_value == pytest.approx(stats.binomtest(4, 5, alternative=alternative).pvalue)
    assert (signed_rank(first, second).statistic, decided.statistic) == (13, 4)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_so_it_is_where_a_few_ranks_are_equal(alternative):
    difference = np.array([8.0, 7, 1, -1, 6])
    expected = stats.wilcoxon(difference, alternative=alternative)
    assert signed_rank(difference, np.zeros(5), alternative).p_value == expected.pvalue


def test_equal_pairs_take_no_part_in_signed_ranks():
    first, second = np.array([0.5, 0.75, 1.0, 0.25]), np.array([0.5, 0.25, 0.5, 0.0])
    assert signed_rank(first, second) == signed_rank(first[1:], second[1:])
    assert signed_rank(first, first)[:4] == (0, 0, 1.0, 0)


def test_the_better_of_two_is_named():
    assert [mcnemar(*as_decisions(*counts)).favours for counts in ((3, 1), (1, 3), (2, 2))] == [1, -1, 0]
    assert mcnemar(*as_decisions(3, 1)).differing == 4


def test_differences_that_are_equal_but_for_rounding_share_a_rank():
    """0.3 - 0.1 is 0.19999999999999998 to a computer, and 0.1 + 0.2 - 0.3 is 5.6e-17."""
    first, second = np.array([0.3, 0.2, 0.1 + 0.2, 0.5]), np.array([0.1, 0.0, 0.3, 0.7])
    found = signed_rank(first, second)
    assert (found.only_first, found.only_second) == (2, 1)
    assert found.p_value == signed_rank(np.array([2.0, 2.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 2.0])).p_value
