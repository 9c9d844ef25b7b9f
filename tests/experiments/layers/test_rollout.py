"""Rollout against paths counted one by one, and what it is taken for."""

import itertools

import numpy as np
import torch

from attest.core.attention.interventions import recorded
from attest.core.measures import kendall_tau_b
from attest.experiments import feature_importance, observe
from attest.experiments.layers import attention_rollout
from attest.models.networks import PoolingClassifier, TransformerEncoder
from tests.experiments.layers.networks import LENGTHS, classifier, observed, spread
from tests.experiments.networks import VOCABULARY, ragged_batch


def paths(layers, pooling):
    """Sum over all ways from the pooled text down: pooling, then in each layer either stay or follow the mean of heads."""
    length, total = len(pooling), np.zeros(len(pooling))
    for way in itertools.product(range(length), repeat=len(layers) + 1):
        weight = pooling[way[0]]
        for (above, below), heads in zip(itertools.pairwise(way), reversed(layers), strict=True):
            weight *= 0.5 * heads[:, above, below].mean() + 0.5 * (above == below)
        total[way[-1]] += weight
    return total


def test_it_sums_over_all_paths():
    observation = observed(classifier())
    mean = observation.mask / observation.mask.sum(dim=-1, keepdim=True)
    rollout = attention_rollout(observation.attention, mean.double())
    np.testing.assert_allclose(rollout.sum(dim=-1), 1, atol=1e-12)
    assert (rollout[~observation.mask] == 0).all()
    for row, length in enumerate(LENGTHS):
        layers = [weights[row, :, :length, :length].numpy() for weights in observation.attention.values()]
        np.testing.assert_allclose(rollout[row, :length], paths(layers, np.full(length, 1 / length)), atol=1e-7)


def test_without_layers_it_is_the_pooled_attention():
    pooling = torch.rand(2, 5)
    assert torch.equal(attention_rollout({}, pooling), pooling)


def test_below_learned_pooling_it_starts_from_the_attention():
    torch.manual_seed(0)
    network = spread(PoolingClassifier(VOCABULARY, 1, lambda words: TransformerEncoder(words, 8, heads=2)))
    _ids, tokens, mask = ragged_batch(LENGTHS)
    with recorded(network, "weights") as weights, torch.no_grad():
        network(tokens, mask)
    pooled = weights.pop("attention")
    rollout = attention_rollout(weights, pooled)
    length = LENGTHS[2]
    layers = [each[2, :, :length, :length].numpy() for each in weights.values()]
    np.testing.assert_allclose(rollout[2, :length], paths(layers, pooled[2, :length].numpy()), atol=1e-12)


def test_feature_importance_ranks_by_what_is_put_in_the_place_of_attention():
    observation = observe(classifier(), *ragged_batch(LENGTHS))
    explanation = torch.rand(4, 9) * observation.mask
    columns = feature_importance(observation.explained_by(explanation), leave_one_out=False)
    expected = kendall_tau_b(explanation, columns["gradient_norm_inputs"], observation.mask).tau
    torch.testing.assert_close(columns["tau_gradient_norm_inputs"], expected, equal_nan=True)
    assert feature_importance(observation, leave_one_out=False)["tau_gradient_norm_inputs"].isnan().all(), (
        "a mean has no ranks"
    )
