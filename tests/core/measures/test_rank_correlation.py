"""Kendall's tau against scipy, exhaustive search and its own laws."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from attest.core.measures import critical_tau, kendall_tau_b, kendall_tau_b_of_each, kendall_top_k, tau_b
from attest.core.measures.inversions import PAIRWISE_UP_TO, _bitwise, _pairwise, _pairwise_at_once, dense_ranks, inversions

SHORT = (1, 3, 4, 7, 20, 48)  # scipy divides by zero at 2
LONG = (*SHORT, 49, 150, PAIRWISE_UP_TO)
LONGEST = (*LONG, PAIRWISE_UP_TO + 1)


def ragged(lengths, draw):
    """One row per length, values drawn by ``draw(n)``, noise at padding."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1)
    values = torch.randn(mask.shape, dtype=torch.float64)
    for row, n in enumerate(lengths):
        values[row, :n] = torch.as_tensor(draw(n))
    return values, mask


@pytest.mark.parametrize("lengths", [SHORT, LONG, LONGEST])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_tau_and_p_value_equal_scipy(levels, lengths):
    generator = np.random.default_rng(levels)
    x, mask = ragged(lengths, lambda n: generator.integers(levels, size=n))
    y, _ = ragged(lengths, lambda n: generator.integers(levels, size=n))
    ours = kendall_tau_b(x, y, mask)
    for row, n in enumerate(lengths):
        theirs = stats.kendalltau(x[row, :n], y[row, :n], method="asymptotic")
        np.testing.assert_allclose(ours.tau[row], theirs.statistic, atol=1e-12)
        np.testing.assert_allclose(ours.p_value[row], theirs.pvalue, atol=1e-12)


@pytest.mark.parametrize("lengths", [SHORT, LONG])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_tau_alone_is_the_tau_with_a_p_value(levels, lengths):
    """To the last digit, of each of several others; infinite, undefined and constant scores included."""
    generator = np.random.default_rng(levels)
    x, mask = ragged(lengths, lambda n: generator.integers(levels, size=n))
    others = torch.stack([ragged(lengths, lambda n: generator.integers(5, size=n))[0] for _ in range(3)], dim=1)
    others[-1, 0, 0], others[-1, 1, :2] = torch.nan, torch.inf
    alone = tau_b(x, others, mask)
    assert alone[-1, 0].isnan()
    for which in range(3):
        assert torch.equal(alone[:, which].nan_to_num(9), kendall_tau_b(x, others[:, which], mask).tau.nan_to_num(9))


def share_in_the_same_order(x, y):
    """The definition, pair by pair; NaN where no pair differs in both."""
    differ = [(a, b) for a, b in itertools.combinations(range(len(x)), 2) if x[a] != x[b] and y[a] != y[b]]
    alike = [(x[a] < x[b]) == (y[a] < y[b]) for a, b in differ]
    return sum(alike) / len(alike) if alike else np.nan


@pytest.mark.parametrize("lengths", [SHORT, (*SHORT, 49, 90)])
@pytest.mark.parametrize("levels", [1, 2, 5, 1000])
def test_the_concordant_share_equals_a_plain_loop(levels, lengths):
    generator = np.random.default_rng(levels)
    x, mask = ragged(lengths, lambda n: generator.integers(levels, size=n))
    y, _ = ragged(lengths, lambda n: generator.integers(5, size=n))
    ours = kendall_tau_b(x, y, mask)
    plain = [share_in_the_same_order(x[row, :n].tolist(), y[row, :n].tolist()) for row, n in enumerate(lengths)]
    np.testing.assert_allclose(ours.concordant, plain, atol=1e-12)


def test_without_ties_the_concordant_share_is_scipys_tau_on_another_scale():
    x, y = np.random.default_rng(0).random((2, 6, 60))
    ours = kendall_tau_b(torch.tensor(x), torch.tensor(y), torch.ones(6, 60, dtype=torch.bool)).concordant
    np.testing.assert_allclose(ours, [(1 + stats.kendalltau(*pair).statistic) / 2 for pair in zip(x, y, strict=True)])


@pytest.mark.parametrize(("sign", "share"), [(1, 1.0), (-1, 0.0)])
def test_sparse_attention_in_perfect_order_agrees_on_every_pair_that_differs_in_both(sign, share):
    """Attention on 5 of 100 tokens, whose tau of 0.31 would be 66 % of pairs if none were tied."""
    attention = torch.zeros(1, 100, dtype=torch.float64)
    attention[0, :5] = torch.arange(1, 6)
    importance = sign * (attention + torch.linspace(0, 0.1, 100))
    tau = kendall_tau_b(attention, importance, torch.ones(1, 100, dtype=torch.bool))
    assert tau.concordant == share
    assert round(float(tau.tau), 2) == sign * 0.31


def test_any_mask_selects_the_tokens_to_rank():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 4, 60, generator=generator).round(decimals=1)
    mask = torch.rand(4, 60, generator=generator) < 0.3
    taus = kendall_tau_b(x, y, mask).tau
    for row in range(4):
        theirs = stats.kendalltau(x[row][mask[row]], y[row][mask[row]]).statistic
        np.testing.assert_allclose(taus[row], theirs, atol=1e-12)


def test_undefined_is_nan():
    mask = torch.tensor([[True, False, False], [True, True, True], [True, True, True], [True, True, False]])
    x = torch.tensor([[1.0, 2, 3], [1, 1, 1], [1, 2, 3], [1, 2, 3]])
    y = torch.tensor([[1.0, 2, 3], [1, 2, 3], [1, torch.nan, 3], [1, 2, torch.nan]])
    tau = kendall_tau_b(x, y, mask)
    for column in (tau.tau, tau.p_value, tau.ceiling, tau.concordant, tau.significant):
        assert column.isnan().tolist() == [True, True, True, False]
    assert tau.tau_a.isnan().tolist() == [True, False, True, False]
    assert tau.tau_a[1] == 0


def test_pairs_that_are_ranked_together_have_the_numbers_that_each_has_alone():
    generator = np.random.default_rng(0)
    x, y, z = (ragged(SHORT, lambda n: generator.integers(5, size=n))[0] for _ in range(3))
    _, mask = ragged(SHORT, np.zeros)
    pairs = [(x, y, mask), (y, z, mask.roll(1, dims=0))]
    together = kendall_tau_b_of_each(pairs)
    for row, pair in enumerate(pairs):
        for found, alone in zip(together, kendall_tau_b(*pair), strict=True):
            torch.testing.assert_close(found[row], alone, rtol=0, atol=0, equal_nan=True)


def test_ceiling_is_reached_and_never_passed():
    """Over all rankings with given ties the largest tau is the ceiling."""
    for ties_x, ties_y in (((0, 0, 0, 1, 2), (0, 1, 2, 3, 4)), ((0, 0, 1, 1, 2), (0, 0, 0, 1, 2))):
        arrangements = sorted(set(itertools.permutations(ties_y)))
        x = torch.tensor(ties_x).expand(len(arrangements), -1).double()
        tau = kendall_tau_b(x, torch.tensor(arrangements).double(), torch.ones_like(x, dtype=torch.bool))
        assert tau.ceiling.unique().numel() == 1
        assert tau.tau.abs().max() <= tau.ceiling[0] + 1e-12


def test_ceiling_of_a_sparse_attention_is_the_closed_form():
    attention = torch.zeros(1, 100, dtype=torch.float64)
    attention[0, :5] = torch.arange(1, 6)
    tau = kendall_tau_b(attention, attention + torch.linspace(0, 0.1, 100), torch.ones(1, 100, dtype=torch.bool))
    expected = np.sqrt(1 - (95 * 94) / (100 * 99))
    np.testing.assert_allclose(tau.ceiling, expected)
    assert abs(expected - 0.31) < 0.005


@given(arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(1, 70)), elements=st.integers(0, 1000)))
def test_both_counts_of_inversions_equal_the_definition(values):
    ranks = dense_ranks(torch.tensor(values))
    plain = [sum(a > b for a, b in itertools.combinations(row, 2)) for row in values.tolist()]
    counts = [count(ranks).tolist() for count in (_pairwise, _pairwise_at_once, _bitwise, inversions)]
    assert counts == [plain] * 4


@given(arrays(np.float64, (2, 9), elements=st.integers(-3, 3).map(float)))
def test_tau_is_symmetric_and_odd(scores):
    x, y = torch.tensor(scores)[:, None]
    mask = torch.ones(1, 9, dtype=torch.bool)
    forth, back, negated = (kendall_tau_b(*pair, mask).tau for pair in ((x, y), (y, x), (x, -y)))
    torch.testing.assert_close(forth, back, equal_nan=True)
    torch.testing.assert_close(forth, -negated, equal_nan=True)


def fagin(x, y, k):
    """The definition, pair by pair: the four cases of Fagin, Kumar & Sivakumar 2003 with penalty 1/2."""
    top_x, top_y = ({i for i, v in enumerate(s) if v >= sorted(s)[-k]} for s in (x, y))
    either = sorted(top_x | top_y)
    distance = 0.0
    for i, j in itertools.combinations(either, 2):
        order_x = np.sign((x[i] if i in top_x else -99) - (x[j] if j in top_x else -99))
        order_y = np.sign((y[i] if i in top_y else -99) - (y[j] if j in top_y else -99))
        distance += 0.5 if order_x * order_y == 0 else float(order_x != order_y)
    n = len(either) * (len(either) - 1) / 2
    return 1 - 2 * distance / n if n else np.nan


@given(arrays(np.float64, (2, 8), elements=st.integers(-5, 5).map(float)), st.integers(1, 8))
def test_top_k_is_fagins_distance(scores, k):
    x, y = torch.tensor(scores)[:, None]
    ours = kendall_top_k(x, y, torch.tensor([k]), torch.ones(1, 8, dtype=torch.bool))
    np.testing.assert_allclose(ours, [fagin(*scores.tolist(), k)])


def test_top_k_knows_its_ends():
    x = torch.arange(10.0).unsqueeze(0)
    mask, k = torch.ones(1, 10, dtype=torch.bool), torch.tensor([4])
    assert kendall_top_k(x, x, k, mask) == 1
    np.testing.assert_allclose(kendall_top_k(x, -x, k, mask), -4 / 7)
    assert kendall_top_k(x, -x, torch.tensor([10]), mask) == -1


@pytest.mark.parametrize(("length", "published"), [(19, 0.33), (115, 0.12), (180, 0.10)])
def test_critical_tau_divides_the_significant_from_the_rest(length, published):
    assert round(critical_tau(length), 2) == published
    generator = torch.Generator().manual_seed(length)
    x, y = torch.rand(2, 300, length, generator=generator)
    tau = kendall_tau_b(x, y, torch.ones(300, length, dtype=torch.bool))
    assert torch.equal(tau.significant == 1, tau.tau.abs() > critical_tau(length))
    assert 0 < tau.significant.sum() < 60
