"""Pooled attention that its outcome determines, or does not, worked out text by text."""

import numpy as np
import torch

from attest.core import memory
from attest.core.attention import Sparsemax
from attest.experiments import identifiability, observe
from tests.experiments.networks import DeepDecoder, observation_of, pooling_classifier, ragged_batch

LENGTHS = [6, 1, 3, 20]


def by_hand(attention, matrix):
    """Rank by numpy, and the attention that is left when multiplied with the matrix and its pseudo-inverse."""
    return np.linalg.matrix_rank(matrix), attention @ matrix @ np.linalg.pinv(matrix)


def test_each_kind_equals_the_pseudo_inverse(monkeypatch):
    network = pooling_classifier(3, Sparsemax())
    observation = observe(network, *ragged_batch(LENGTHS))
    columns = identifiability(observation)
    for row, length in enumerate(LENGTHS):
        attention, hidden = observation.attention[row, :length].numpy(), observation.hidden[row, :length].detach().numpy()
        logits = hidden @ network.decoder.weight.detach().numpy().T
        for kind, matrix in (("context", hidden), ("prediction", logits)):
            for strict, each in (("", matrix), ("_strict", np.hstack([matrix, np.ones((length, 1))]))):
                rank, effective = by_hand(attention, each)
                assert columns[f"rank_{kind}{strict}"][row] == rank
                assert columns[f"trivial_{kind}{strict}"][row] == (rank == length)
                np.testing.assert_allclose(columns[f"l1_{kind}{strict}"][row], np.abs(attention - effective).sum(), atol=1e-9)
    assert columns["trivial_context"].tolist() == [1, 1, 1, 0], "16 hidden units cannot tell 20 tokens apart"
    assert columns["rank_prediction"].tolist() == [3, 1, 3, 3]
    assert columns["rank_prediction_strict"].tolist() == [4, 1, 3, 4]
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(identifiability(observation), columns, equal_nan=True)


def test_tokens_that_look_alike_cannot_be_told_apart():
    """Equal hidden states share their attention equally, whatever it was."""
    network = pooling_classifier()
    observation = observe(network, *ragged_batch([4]))
    observation.hidden.data[0, 1] = observation.hidden.data[0, 2]
    columns = identifiability(observation)
    first, second = observation.attention[0, 1:3]
    assert columns["rank_context"] == 3
    torch.testing.assert_close(columns["l1_context"][0], (first - second).abs())


def test_a_decoder_that_is_not_linear_has_the_context_alone():
    assert not any("prediction" in name for name in identifiability(observation_of(DeepDecoder(pooling_classifier()), [3])))
