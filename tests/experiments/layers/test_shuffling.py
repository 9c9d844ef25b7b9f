"""Shuffled keys and permuted rows against attention written out, text by text."""

import numpy as np
import pytest
import torch

from attest.core import memory
from attest.core.attention import Uniform
from attest.core.attention.interventions import Intervention, attending, recorded
from attest.core.measures import probabilities
from attest.core.randomness import random_bits, random_permutations
from attest.experiments.layers import clean_keys, key_shuffle, layer_permutation, replacing_keys
from attest.experiments.layers.permutation import _permuting
from attest.models.networks.transformer import sinusoids
from tests.experiments.layers.networks import LENGTHS, alone, classifier, observed, tagger

LABELS = torch.tensor([1, 0, 1, 0])
DRAWS = 5


def by_hand(observation, row, layer, order):
    """Predictions of one text when a layer scores against its own keys in another order."""
    text = alone(observation, row)
    scores = {}
    with recorded(observation.network, "scores") as clean:
        observation.network(text.tokens, text.mask)
    scores = clean[layer][..., order]  # a score is the product of a query with a key
    return probabilities(text.under(Intervention("scores", scores, [layer])).logits)[0]


@pytest.mark.parametrize("place", [0, 1])
def test_shuffled_keys_are_shuffled_scores(place):
    observation = observed(classifier())
    columns = key_shuffle(observation, LABELS, 3, DRAWS)
    layer = list(observation.attention)[place]
    for row in range(4):
        keys = torch.stack([random_bits(3, observation.ids[row], torch.tensor(draw)) for draw in range(DRAWS)])
        orders = random_permutations(3, keys, 2, torch.ones(DRAWS, LENGTHS[row], dtype=torch.bool))
        with torch.no_grad():
            outcomes = torch.stack([by_hand(observation, row, layer, order[place]) for order in orders])
        moved = (outcomes - observation.probabilities[row]).abs().sum(-1) / 2
        right = (outcomes.argmax(-1) == LABELS[row]).double()
        np.testing.assert_allclose(columns[f"tvd_shuffled_layer{place + 1}"][row], moved.mean(), atol=1e-9)
        assert columns[f"correct_shuffled_layer{place + 1}"][row] == right.mean()


def test_clean_keys_put_back_change_nothing_and_padding_keeps_its_own():
    observation = observed(classifier())
    layers = observation.scopes[""]
    keys = clean_keys(observation.network, layers, observation.texts)
    with torch.no_grad():
        assert torch.equal(observation.under(*replacing_keys(observation.network, layers, keys)).logits, observation.logits)
        spoiled = torch.where(observation.mask[:, None, :, None], keys, torch.nan)
        again = observation.under(*replacing_keys(observation.network, layers, spoiled))
    assert torch.equal(again.logits, observation.logits)


def test_keys_of_all_heads_travel_together():
    network = classifier()
    observation = observed(network)
    keys = clean_keys(network, observation.scopes[""], observation.texts)
    layer = attending(network)["encoder.layers.0.attention"]
    with torch.no_grad():
        embedded = 8**0.5 * network.encoder.embedding(observation.tokens)
        expected = layer.key(embedded + sinusoids(9, 8))
    torch.testing.assert_close(keys[:, 0], expected)


@pytest.mark.parametrize("experiment", [key_shuffle, layer_permutation])
@pytest.mark.parametrize("make", [classifier, tagger])
def test_instances_do_not_depend_on_neighbours_or_memory(experiment, make, monkeypatch):
    observation = observed(make())
    labels = LABELS if make is classifier else torch.where(observation.mask, 0, -100)
    together = experiment(observation, labels, 1, DRAWS)
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(experiment(observation, labels, 1, DRAWS), together)
    single = experiment(alone(observation, 2), labels[2:3, :3] if make is tagger else labels[2:3], 1, DRAWS)
    for name, column in single.items():
        torch.testing.assert_close(column[0], together[name][2], msg=name)


@pytest.mark.parametrize("experiment", [key_shuffle, layer_permutation])
def test_uniform_attention_does_not_mind(experiment):
    columns = experiment(observed(classifier(projection=Uniform())), LABELS, 0, DRAWS)
    assert all(column.max() < 1e-9 for name, column in columns.items() if name.startswith(("tvd", "jsd", "flipped")))


def test_one_token_cannot_be_shuffled():
    columns = key_shuffle(observed(classifier(), [1, 1]), torch.tensor([0, 1]), 0, DRAWS)
    assert columns["tvd_shuffled"].max() < 1e-12


def test_rows_are_permuted_within_real_tokens_each_by_itself():
    observation = observed(classifier(), [9, 5])
    seen = {}

    def look(weights, mask):
        seen["permuted"] = weights
        return weights

    layer = next(iter(observation.attention))
    with torch.no_grad():
        permuted = _permuting(0, {}, observation, torch.arange(2), torch.tensor([4, 5]))
        observation.under(*permuted([layer]), Intervention("weights", look, [layer]))
    clean = observation.attention[layer]
    assert torch.equal(seen["permuted"].sort(dim=-1).values, clean.sort(dim=-1).values)
    assert (seen["permuted"][1, ..., 5:] == 0).all()
    moved = [tuple(row.argsort().tolist()) for row in seen["permuted"][0].flatten(0, 1)]
    assert len(set(moved)) > 9, "heads and rows are not permuted alike"


def one_order(key, head, row, length):
    """The permutation of one row of one head."""
    key = random_bits(2, key, torch.tensor(head), torch.tensor(row))
    return random_permutations(2, key, 1, torch.ones(1, length, dtype=torch.bool))[0, 0]


def test_permuted_rows_move_the_prediction_as_far_as_by_hand():
    observation = observed(classifier(layers=1))
    columns = layer_permutation(observation, LABELS, 2, DRAWS)
    (layer,) = observation.attention
    for row in (0, 2):
        text, outcomes = alone(observation, row), []
        for draw in range(DRAWS):
            key = random_bits(2, random_bits(2, text.ids, torch.tensor(draw)), torch.tensor(0))
            order = torch.stack([one_order(key, head, at, LENGTHS[row]) for head in range(2) for at in range(LENGTHS[row])])
            order = order.view(1, 2, LENGTHS[row], LENGTHS[row])
            with torch.no_grad():
                moved = text.under(Intervention("weights", text.attention[layer].gather(-1, order)))
            outcomes.append((moved.probabilities - text.probabilities).abs().sum().item() / 2)
        np.testing.assert_allclose(columns["tvd_median"][row], np.median(outcomes), atol=1e-9)
        np.testing.assert_allclose(columns["tvd_max"][row], np.max(outcomes), atol=1e-9)
