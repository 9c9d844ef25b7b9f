"""KernelSHAP and LIME by captum, on our observations: against Shapley values by enumeration, and the same in any batch."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
import torch

from attest.experiments import observe
from attest.experiments.erasure.operators import mask_tokens
from attest.experiments.readings import reading_of, readings_of, suited_readings
from tests.experiments.networks import observation_of, pooling_classifier


def shapley(observation, row):
    """What each token adds to the prediction, mean over all orders in which masked tokens come back."""
    length = int(observation.lengths[row])
    sets = torch.tensor([[bool(number >> place & 1) for place in range(length)] for number in range(2**length)])
    text = observation.part(torch.tensor([row]))
    left = mask_tokens(text, sets.unsqueeze(0))[0]
    values = torch.zeros(length).double()
    for order in permutations(range(length)):
        before = 0
        for token in order:
            values[token] += left[before | 1 << token] - left[before]
            before |= 1 << token
    return values / factorial(length), left[-1] - left[0]


def test_shapley_values_are_those_of_all_orders():
    observation = observation_of(pooling_classifier(), [5, 4, 1])
    found = reading_of("kernel-shap", observation).of(observation)
    for row, length in enumerate([5, 4, 1]):
        expected, whole = shapley(observation, row)
        assert found[row].sum().item() == pytest.approx(whole.item(), abs=1e-4)
        np.testing.assert_allclose(found[row, :length], expected, atol=0.05 * expected.abs().max())
        assert (found[row, length:] == 0).all()


def test_lime_orders_tokens_of_one_word_texts_as_they_weigh():
    observation = observation_of(pooling_classifier(), [5, 4])
    found, expected = reading_of("lime", observation).of(observation), shapley(observation, 0)[0]
    assert torch.equal(found[0].sign(), expected.sign().to(found))
    assert np.corrcoef(found[0], expected)[0, 1] > 0.95


@pytest.mark.parametrize("name", ["kernel-shap", "lime"])
def test_draws_depend_on_the_text_alone(name):
    together = observation_of(pooling_classifier(), [5, 9])
    part = together.part(torch.tensor([0]))
    alone = observe(part.network, part.ids, part.tokens, part.mask)
    torch.manual_seed(7)
    state = torch.random.get_rng_state()
    np.testing.assert_allclose(reading_of(name, alone).of(alone)[0], reading_of(name, together).of(together)[0, :5], atol=1e-8)
    assert torch.equal(state, torch.random.get_rng_state())


def test_they_are_computed_where_they_are_named():
    observation = observation_of(pooling_classifier(), [5, 4])
    assert {*readings_of(observation, names=["kernel-shap"])} == {"attention", "kernel_shap", "random"}
    assert not {"kernel-shap", "lime"} & {each.name for each in suited_readings(observation)}
