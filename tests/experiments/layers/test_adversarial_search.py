"""The search inside layers against a plain one, text by text, and what it may claim."""

import math

import pytest
import torch

from attest.core import memory
from attest.core.attention import Softmax, Sparsemax, Uniform
from attest.core.attention.interventions import Intervention
from attest.core.measures import jensen_shannon
from attest.experiments.adversarial_search import Pairs
from attest.experiments.layers import layer_adversarial_attention
from attest.experiments.layers.adversarial_search import _gradients, _starting_points, _tampered, _weights
from tests.experiments.layers.networks import LENGTHS, alone, classifier, observed, tagger


def plain_search(text, layers, restarts, steps, epsilon, starts):
    """Adam and autograd over one text without padding; each JSD and each pair counted one by one."""
    logits = [start.clone().requires_grad_() for start in starts]
    adam = torch.optim.Adam(logits, lr=0.01, amsgrad=True)
    for step in range(steps + 1):
        tampered = []
        for restart in range(restarts):
            weights = {layer: each[restart : restart + 1].softmax(-1) for layer, each in zip(layers, logits, strict=True)}
            swapped = text.under(*(Intervention("weights", value, [layer]) for layer, value in weights.items()))
            tampered.append((weights, 0.5 * (swapped.probabilities - text.probabilities).abs().sum()))
        if step == steps:
            break
        loss = sum(500 * (moved - epsilon).relu() for _, moved in tampered)
        for layer in layers:
            maps = [weights[layer] for weights, _ in tampered]
            loss -= sum(jensen_shannon(each, text.attention[layer]).sum() for each in maps)
            pairs = [(i, j) for i in range(restarts) for j in range(i)]
            loss -= sum(jensen_shannon(maps[i], maps[j]).sum() for i, j in pairs) / (restarts * (restarts - 1))
        adam.zero_grad()
        loss.backward()
        adam.step()
    jsds = [
        torch.stack([jensen_shannon(weights[layer], text.attention[layer]).mean() for layer in layers]).mean()
        for weights, moved in tampered
        if moved <= epsilon
    ]
    return max(jsds, default=torch.zeros(()))


def searched(observation, seed=0, **settings):
    return layer_adversarial_attention(observation, observation.ids, seed, each_layer=True, **settings)


@pytest.mark.parametrize(("suffix", "places"), [("", [0, 1]), ("_layer1", [0]), ("_layer2", [1])])
def test_it_finds_what_a_plain_search_finds(suffix, places):
    observation, epsilon = observed(classifier()), 0.2
    columns = searched(observation, seed=1, epsilon=epsilon, filter_epsilon=0.4, restarts=3, steps=6)
    layers = [observation.scopes[""][place] for place in places]
    for row in range(4):
        text = alone(observation, row)
        starts = [start.detach() for start in _starting_points(text.rows(torch.zeros(3, dtype=torch.long)), layers, 3, 1)]
        expected = plain_search(text, layers, 3, 6, epsilon, starts)
        torch.testing.assert_close(columns[f"jsd_search{suffix}"][row], expected.double().detach(), atol=1e-7, rtol=0)
    assert columns["jsd_search_layer1"].max() > 0


@pytest.mark.whole("many repetitions")
def test_what_counts_keeps_the_prediction_and_parameters_get_no_gradient(monkeypatch):
    observation = observed(classifier())
    columns = searched(observation, restarts=2, steps=40)
    for suffix in observation.scopes:
        assert (columns[f"jsd_search{suffix}"] <= columns[f"jsd_search_filter{suffix}"]).all()
        assert columns[f"jsd_search_filter{suffix}"].max() <= math.log(2)
        assert columns[f"jsd_search{suffix}"][1] == 0, "one token has one attention"
    assert all(parameter.grad is None for parameter in observation.network.parameters())
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(searched(observation, restarts=2, steps=40), columns)


def test_a_layer_whose_attention_does_not_matter_can_have_any():
    """With values of zero nothing passes the layer, so that the search is free to go as far as it gets."""
    observation = observed(classifier(layers=1))
    (layer,) = observation.attention
    attention = observation.network.get_submodule(layer)
    with torch.no_grad():
        attention.value.weight.zero_()
    free = observed(observation.network)
    columns = searched(free, restarts=1, steps=60)
    starts = _starting_points(free, [layer], 1, 0)
    start = _tampered(free, [layer], _weights(free, starts)).diverged_from(free, [layer])
    assert (columns["jsd_search"][[0, 2, 3]] > start[[0, 2, 3]]).all()


def test_sparse_attention_is_searched_with_finite_gradients():
    observation = observed(classifier(projection=Sparsemax()))
    few, many = (searched(observation, epsilon=1, filter_epsilon=1, restarts=2, steps=steps) for steps in (0, 40))
    assert all((weights[3] == 0).any() for weights in observation.attention.values()), "the longest text has no padding"
    assert (many["jsd_search"][[0, 2, 3]] > few["jsd_search"][[0, 2, 3]]).all(), "nothing is forbidden, so it only climbs"


def test_taggers_are_searched_too():
    columns = searched(observed(tagger()), restarts=2, steps=3)
    assert set(columns) == {"jsd_search", "jsd_search_filter", "max_attention"}
    assert len(columns["jsd_search"]) == len(LENGTHS)


def test_the_largest_weight_is_a_mean_over_rows():
    uniform = searched(observed(classifier(projection=Uniform())), restarts=1, steps=1)
    torch.testing.assert_close(uniform["max_attention"], 1 / torch.tensor(LENGTHS).double())
    softmax = searched(observed(classifier(projection=Softmax())), restarts=1, steps=1)
    assert (softmax["max_attention"][[0, 2, 3]] > uniform["max_attention"][[0, 2, 3]]).all()


@pytest.mark.parametrize("make", [classifier, tagger])
@pytest.mark.parametrize("restarts", [1, 3])
def test_the_gradient_is_that_of_the_objective(make, restarts):
    """Written out in ``_gradients``, by autograd here, under a penalty that some texts pay and others do not."""
    observation = observed(make(3))
    clean = observation.rows(torch.arange(len(LENGTHS)).repeat_interleave(restarts))
    layers, epsilon = list(clean.attention), 0.1
    logits = [start.requires_grad_() for start in _starting_points(clean, layers, restarts, 0)]
    found = _tampered(clean, layers, _weights(clean, logits))
    beyond = (found.moved_from(clean) - epsilon).relu()
    assert 0 < (beyond > 0).sum() < len(beyond)
    objective = 500 * beyond.sum()
    real = clean.mask[:, None]
    for layer in layers:
        weights, old = found.attention[layer].clamp(min=1e-300), clean.attention[layer].clamp(min=1e-300)
        objective = objective - (jensen_shannon(weights, old) * real).sum()
        for first in range(restarts):
            for second in range(first):
                pair = jensen_shannon(weights[first::restarts], weights[second::restarts]) * real[::restarts]
                objective = objective - pair.sum() / (restarts * (restarts - 1))
    expected = torch.autograd.grad(objective, logits)
    for ours, theirs in zip(_gradients(clean, layers, logits, Pairs.of(restarts, logits[0]), epsilon), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)
