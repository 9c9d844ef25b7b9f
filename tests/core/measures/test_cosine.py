"""The cosine distance in float32 has the digits that float64 has, also of directions that hardly differ."""

import numpy as np
import pytest
import torch

from attest.core.measures.divergences import cosine_distance


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-4])
def test_it_is_exact_also_of_nearly_equal_directions(apart):
    a = torch.randn(1000, 16, generator=torch.Generator().manual_seed(0))
    b = a + apart * torch.randn(1000, 16, generator=torch.Generator().manual_seed(1))
    exact = 1 - torch.cosine_similarity(a.double(), b.double(), dim=-1)
    np.testing.assert_allclose(cosine_distance(a, b), exact, rtol=1e-2)


def test_opposite_directions_are_2_apart_and_nothing_is_1_from_everything():
    a, nothing = torch.tensor([3.0, 4.0]), torch.zeros(2)
    pairs = [(a, -2 * a), (a, nothing), (nothing, a), (a, 5 * a)]
    np.testing.assert_allclose([cosine_distance(*pair) for pair in pairs], [2, 1, 1, 0])
