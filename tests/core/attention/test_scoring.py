"""Scoring functions against their formulas, token by token."""

import math

import pytest
import torch

from attest.core.attention import AdditiveScoring, DotScoring


def test_additive_scores_are_the_formula():
    scoring = AdditiveScoring(6).double()
    hidden = torch.randn(2, 3, 6, dtype=torch.float64)
    matrix, bias, v = (p.detach() for p in scoring.parameters())
    for b in range(2):
        for t in range(3):
            expected = sum(v[0, j] * math.tanh(matrix[j] @ hidden[b, t] + bias[j]) for j in range(3))
            assert scoring(hidden)[b, t].item() == pytest.approx(expected.item(), abs=1e-12)


def test_dot_scores_are_the_formula():
    scoring = DotScoring(5).double()
    hidden = torch.randn(2, 3, 5, dtype=torch.float64)
    query = scoring.query.weight.detach()[0]
    for b in range(2):
        for t in range(3):
            expected = sum(query[j] * hidden[b, t, j] for j in range(5)) / math.sqrt(5)
            assert scoring(hidden)[b, t].item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize(("given", "size"), [(None, 5), (10, 10), (3, 3)])
def test_the_size_of_additive_attention(given, size):
    assert AdditiveScoring(10, given).alignment.weight.shape == (1, size)


def test_hidden_states_of_one_dimension_can_be_scored():
    assert AdditiveScoring(1)(torch.randn(2, 3, 1)).shape == (2, 3)
