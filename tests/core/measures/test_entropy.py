"""Normalised entropy against scipy, and both ends of its range."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from attest.core.measures import normalised_entropy

positive = st.floats(1e-3, 1e3)


@given(arrays(np.float64, st.integers(2, 30), elements=positive), st.integers(0, 5))
def test_equals_scipy_whatever_the_padding_and_scale(weights, padding):
    padded = torch.cat([torch.tensor(weights), torch.randn(padding).exp()])
    mask = torch.arange(len(padded)) < len(weights)
    ours = normalised_entropy(padded[None], mask[None])[0]
    np.testing.assert_allclose(ours, stats.entropy(weights) / np.log(len(weights)), atol=1e-12)


def test_ends_and_undefined():
    weights = torch.tensor([[1.0, 1, 1, 1], [0, 0, 2, 0], [0, 0, 0, 0], [3, 0, 0, 0]])
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[3, 1:] = False
    entropy = normalised_entropy(weights, mask)
    np.testing.assert_allclose(entropy, [1, 0, np.nan, np.nan], atol=1e-6)


def test_masks_broadcast_over_leading_dimensions():
    weights = torch.rand(3, 5, 7)
    mask = torch.arange(7) < torch.tensor([[7], [4], [2]])
    stacked = torch.stack([normalised_entropy(weights[:, d], mask) for d in range(5)], dim=1)
    torch.testing.assert_close(normalised_entropy(weights, mask.unsqueeze(1)), stacked)
