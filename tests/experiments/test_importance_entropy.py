"""Entropies against scipy, and influence on hidden states against one backward pass a position."""

import numpy as np
import pytest
import torch
from scipy import stats

from attest.core import memory
from attest.experiments import feature_importance, importance_entropy, observe, sample_of_ids
from tests.experiments.networks import FourSteps, observation_of, pooling_classifier

LENGTHS = [6, 1, 3, 9]


def entropy(weights):
    weights = weights / weights.sum()
    return stats.entropy(weights) / np.log(len(weights)) if len(weights) > 1 else np.nan


def test_entropies_of_importance_equal_scipy():
    observation = observation_of(pooling_classifier(), LENGTHS)
    columns, importances = importance_entropy(observation, None, texts=0), feature_importance(observation)
    for name, source in (("gradient", "gradient_norm_inputs"), ("leave_one_out", "leave_one_out_inputs")):
        expected = [entropy(importances[source][row, :n].detach().numpy()) for row, n in enumerate(LENGTHS)]
        np.testing.assert_allclose(columns[f"entropy_{name}"], expected, atol=1e-9)


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps])
def test_influence_on_hidden_states_equals_one_backward_pass_a_position(wrap, monkeypatch):
    network = wrap(pooling_classifier())
    observation = observation_of(network, LENGTHS)
    ours = importance_entropy(observation, observation.ids[:3], positions=6)["entropy_hidden"]
    expected = []
    for row, n in enumerate(LENGTHS[:3]):
        alone = observe(
            network, observation.ids[:1], observation.tokens[row : row + 1, :n], observation.mask[row : row + 1, :n]
        )
        entropies = []
        for p in range(n):
            (gradient,) = torch.autograd.grad(alone.hidden[0, p].square().sum().sqrt(), alone.embedded, retain_graph=True)
            entropies.append(entropy(gradient[0].square().sum(dim=-1).sqrt().numpy()))
        expected.append(np.mean(entropies))
    np.testing.assert_allclose(ours, [*expected, np.nan], atol=1e-9)
    monkeypatch.setattr(memory, "_budget", 1)
    again = importance_entropy(observation, observation.ids[:3], positions=6)["entropy_hidden"]
    torch.testing.assert_close(again, ours, equal_nan=True)


def test_a_long_text_is_sampled():
    observation = observation_of(pooling_classifier(), [30, 30])
    with torch.no_grad():
        unasked = importance_entropy(observation, observation.ids, positions=4)["entropy_hidden"]
    few, other, all_of_them = (
        importance_entropy(observation, observation.ids, positions=p, seed=s)["entropy_hidden"]
        for p, s in ((4, 0), (4, 1), (30, 0))
    )
    assert torch.equal(few, unasked)
    assert not torch.equal(few, other)
    assert (few - all_of_them).abs().max() < 0.3


def test_the_sample_does_not_depend_on_the_order_of_instances():
    ids = torch.arange(500)
    sample = sample_of_ids(3, ids, 40)
    assert len(sample.unique()) == 40
    assert set(sample_of_ids(3, ids.flip(0), 40).tolist()) == set(sample.tolist())
    assert set(sample_of_ids(4, ids, 40).tolist()) != set(sample.tolist())


def test_influence_on_facets_is_the_norm_of_the_jacobian():
    observation = observation_of(pooling_classifier(), LENGTHS)
    asked = importance_entropy(observation, observation.ids[:3], positions=6, facets=True)
    expected = []
    for row, n in enumerate(LENGTHS[:3]):
        tokens, mask = observation.tokens[row : row + 1, :n], observation.mask[row : row + 1, :n]
        alone = observe(observation.network, observation.ids[:1], tokens, mask)
        entropies = []
        for p in range(n):
            jacobian = [
                torch.autograd.grad(facet, alone.embedded, retain_graph=True)[0][0].numpy() for facet in alone.hidden[0, p]
            ]
            entropies.append(entropy(np.sqrt(np.square(jacobian).sum(axis=(0, 2)))))
        expected.append(np.mean(entropies))
    np.testing.assert_allclose(asked["entropy_hidden_facets"], [*expected, np.nan], atol=1e-7)
    unasked = importance_entropy(observation, observation.ids[:3], positions=6)
    assert asked.keys() - unasked.keys() == {"entropy_hidden_facets"}
    assert torch.equal(asked["entropy_hidden"].nan_to_num(), unasked["entropy_hidden"].nan_to_num())
