"""Permutations against one decoding each, and the shuffles against the laws of shuffling."""

import numpy as np
import pytest
import torch
from scipy import stats

from attest.core import memory
from attest.core.attention import Sparsemax, Uniform
from attest.core.randomness import random_permutations
from attest.experiments import attention_permutation, observe
from tests.experiments.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier

LENGTHS = [6, 1, 3, 9]


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
@pytest.mark.parametrize(("outputs", "draws"), [(1, 20), (3, 7)])
def test_equals_one_decoding_a_permutation(wrap, outputs, draws, monkeypatch):
    network = wrap(pooling_classifier(outputs, Sparsemax()))
    observation = observation_of(network, LENGTHS)
    columns = attention_permutation(observation, draws, seed=5)
    orders = random_permutations(5, observation.ids, draws, observation.mask)
    for row, n in enumerate(LENGTHS):
        hidden, before = observation.hidden[row : row + 1, :n].detach(), observation.probabilities[row]
        changes, flips = [], []
        for order in orders[row, :, :n]:
            logits = network.decode(hidden, observation.attention[row, order][None])[0]
            after = logits.softmax(-1) if outputs > 1 else torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)])
            changes.append(0.5 * (after - before).abs().sum().item())
            flips.append(after.argmax().item() != before.argmax().item())
        np.testing.assert_allclose(columns["tvd_median"][row], np.median(changes), atol=1e-12)
        np.testing.assert_allclose(columns["tvd_max"][row], np.max(changes), atol=1e-12)
        np.testing.assert_allclose(columns["flipped"][row], np.mean(flips), atol=1e-7)
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(attention_permutation(observation_of(network, LENGTHS), draws, seed=5), columns)


def test_flipped_is_the_share_of_permutations_that_flip():
    observation = observation_of(pooling_classifier(projection=Sparsemax()), [9] * 40)
    flipped = attention_permutation(observation, 20, seed=5)["flipped"]
    orders = random_permutations(5, observation.ids, 20, observation.mask)
    for row in range(40):
        decided = observation.margins[row] @ observation.attention[row, orders[row]].double().T > 0
        torch.testing.assert_close(flipped[row], (decided != observation.predicted[row]).float().mean())
    assert ((flipped > 0) & (flipped < 1)).any()


def test_uniform_attention_cannot_be_permuted():
    columns = attention_permutation(observation_of(pooling_classifier(projection=Uniform()), LENGTHS), 10, seed=0)
    assert columns["tvd_max"].max() < 1e-12
    assert columns["flipped"].max() == 0


def test_shuffles_are_permutations_that_leave_padding_alone():
    mask = torch.arange(9) < torch.tensor([[9], [1], [4]])
    orders = random_permutations(0, torch.arange(3), 50, mask)
    assert torch.equal(orders.sort(dim=-1).values, torch.arange(9).expand(3, 50, 9))
    assert torch.equal(orders[1], torch.arange(9).expand(50, 9))
    assert torch.equal(orders[2, :, 4:], torch.arange(4, 9).expand(50, 5))


def test_every_permutation_is_equally_likely():
    orders = random_permutations(3, torch.arange(600), 20, torch.ones(600, 3, dtype=torch.bool)).flatten(0, 1)
    counts = (orders @ torch.tensor([9, 3, 1])).unique(return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 0.01


def test_an_instance_is_shuffled_alike_in_any_batch():
    network = pooling_classifier()
    together = attention_permutation(observation_of(network, [7, 7]), 9, seed=1)
    ids, tokens = observation_of(network, [7, 7]).ids, observation_of(network, [7, 7]).tokens
    alone = attention_permutation(observe(network, ids[1:], tokens[1:], tokens[1:] > 0), 9, seed=1)
    torch.testing.assert_close(alone["tvd_median"], together["tvd_median"][1:])
