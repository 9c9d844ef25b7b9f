"""KL and its kin against scipy, and their gradients where weights are 0."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import rel_entr

from attest.core.attention import Softmax, Sparsemax
from attest.core.measures import jensen_shannon
from attest.core.measures.divergences import SMOOTHING, kullback_leibler, smoothed_kullback_leibler

MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
scores = arrays(np.float64, (2, 4), elements=st.floats(-4, 4))


def distributions(of: np.ndarray, projection=Softmax) -> torch.Tensor:
    return projection()(torch.tensor(of), MASK)


@given(scores, scores)
def test_they_are_scipys(first, second):
    for projection in (Softmax, Sparsemax):
        p, q = distributions(first, projection), distributions(second, projection)
        np.testing.assert_allclose(kullback_leibler(p, q), rel_entr(p, q).sum(-1), atol=1e-12)
        middle = (p + q) / 2  # scipy's own distance is the root of this, and NaN where rounding makes it negative
        theirs = (rel_entr(p, middle) + rel_entr(q, middle)).sum(-1) / 2
        np.testing.assert_allclose(jensen_shannon(p, q), theirs, atol=1e-12)


def test_jsd_of_nearly_equal_distributions_keeps_its_digits():
    """It falls with the square of their distance; float32 would be left with two digits of it at 1e-3."""
    p = torch.randn(50, 150, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    q = p * (1 + 1e-3 * torch.randn(50, 150, generator=torch.Generator().manual_seed(1)))
    torch.testing.assert_close(jensen_shannon(p, q).double(), jensen_shannon(p.double(), q.double()), rtol=1e-3, atol=0)


def test_the_direction_is_from_the_first_to_the_second():
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])
    assert kullback_leibler(p, q).item() == pytest.approx(0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1))
    assert kullback_leibler(q, p).item() == pytest.approx(0.9 * np.log(0.9 / 0.5) + 0.1 * np.log(0.1 / 0.5))


def test_it_is_infinite_off_the_support_and_the_smoothed_one_is_not():
    p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[1.0, 0.0]])
    assert kullback_leibler(p, q).item() == torch.inf
    real = torch.ones(1, 2, dtype=torch.bool)
    largest = smoothed_kullback_leibler(q.flip(-1), q, real).item()
    assert smoothed_kullback_leibler(p, q, real).item() < largest < np.log(2 / SMOOTHING)


@pytest.mark.parametrize("divergence", [kullback_leibler, jensen_shannon])
def test_gradients_are_right_and_finite_at_padding(divergence):
    ours, theirs = torch.randn(2, 4, dtype=torch.float64, requires_grad=True), torch.randn(2, 4, dtype=torch.float64)
    base = Softmax()(theirs, MASK)
    assert torch.autograd.gradcheck(lambda each: divergence(Softmax()(each, MASK), base), ours)


def test_gradients_of_sparse_attention_are_finite():
    ours = torch.tensor([[3.0, 0.0, 0.1, 2.9]], requires_grad=True)
    base, real = torch.tensor([[0.0, 0.0, 1.0, 0.0]]), torch.ones(1, 4, dtype=torch.bool)
    jensen_shannon(Sparsemax()(ours, real), base).sum().backward()
    assert ours.grad.isfinite().all()
