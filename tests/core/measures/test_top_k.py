"""The overlap of top-k sets against counting by hand, and against breaking ties at random."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attest.core.measures import top_k_overlap

ROWS = st.lists(st.integers(0, 3), min_size=4, max_size=4)


def overlap(x, y, k, mask=None) -> float:
    x, y = (torch.tensor([each], dtype=torch.float64) for each in (x, y))
    return float(top_k_overlap(x, y, k, torch.ones_like(x, dtype=torch.bool) if mask is None else torch.tensor([mask])))


@pytest.mark.parametrize(("k", "expected"), [(1, 0), (2, 1 / 2), (3, 2 / 3), (4, 3 / 4), (5, 1)])
def test_it_counts_what_both_sets_hold(k, expected):
    """From the largest down, x has tokens 0 1 2 3 4 5 and y has 1 3 0 4 2 5."""
    assert overlap([9, 8, 7, 6, 5, 1], [7, 9, 5, 8, 6, 1], k) == pytest.approx(expected)


@given(ROWS, ROWS, st.integers(1, 3))
def test_ties_share_the_places_that_are_left(x, y, k):
    """The mean over every order of the tokens in which ties may fall, of each ranking on its own."""

    def sets(scores):
        orders = itertools.permutations(range(4))
        return [{*sorted(order, key=lambda token: -scores[token])[:k]} for order in orders]

    expected = np.mean([len(first & second) / k for first in sets(x) for second in sets(y)])
    assert overlap(x, y, k) == pytest.approx(expected)


@given(ROWS, st.integers(1, 3))
def test_a_ranking_without_an_order_shares_what_chance_shares(x, k):
    assert overlap(x, [0.5] * 4, k) == pytest.approx(k / 4)


def test_padding_takes_no_part_and_rows_do_not_meet():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 5, 9, generator=generator)
    mask = torch.arange(9) < torch.tensor([[9], [6], [4], [3], [1]])
    whole = top_k_overlap(x, y, 3, mask)
    for row, n in enumerate((9, 6, 4)):
        alone = torch.ones(1, n, dtype=torch.bool)
        assert whole[row] == top_k_overlap(x[row : row + 1, :n], y[row : row + 1, :n], 3, alone)
    assert whole[3:].isnan().all(), "all rankings share three of three tokens"
    assert whole.dtype == torch.float64


def test_what_is_undefined_stays_so():
    assert np.isnan(overlap([1, 2, 3], [1, np.nan, 3], 1))
    assert overlap([1, 3, 2], [1, 3, np.nan], 1, [True, True, False]) == 1
    assert np.isnan(overlap([1, 2], [1, 2], 5)), "a batch that is shorter than k"
