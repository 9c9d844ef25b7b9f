"""A tampered pass that begins at its first tampered layer against one from the tokens on."""

import pytest
import torch
from torch import nn

from attest.core.attention import Entmax15
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.experiments.layers import observe_layers
from attest.models.networks import PoolingClassifier, TransformerClassifier, TransformerEncoder
from attest.models.observation import hooked
from tests.experiments.layers.networks import classifier, observed, spread, tagger
from tests.experiments.networks import VOCABULARY, ragged_batch


class Wrapped(nn.Module):
    """As DDP holds a network."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *arguments):
        return self.module(*arguments)


def pooling():
    torch.manual_seed(0)
    return spread(PoolingClassifier(VOCABULARY, 1, encoder=lambda size: TransformerEncoder(size, 8, 3, heads=2)))


MAKERS = {
    "classifier": lambda: classifier(layers=3),
    "tagger": tagger,
    "wrapped": lambda: Wrapped(classifier(layers=3)),
    "pooling": pooling,
}


def from_tokens(network, observation, *interventions):
    with torch.no_grad(), intervene(network, *interventions), recorded(network, "weights") as weights:
        return network(observation.tokens, observation.mask), weights


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_pass_from_the_first_tampered_layer_is_one_from_the_tokens(make):
    network = make()
    observation = observed(network)
    assert observation.inputs, "there is something to go on from"
    for layers in observation.scopes.values():
        flipped = observation.attention[layers[0]].flip(2)
        for value, point in (
            (flipped, "weights"),
            (lambda weights, mask: weights.flip(2), "weights"),
            (Entmax15(), "projection"),
        ):
            change = Intervention(point, value, layers[:1] if isinstance(value, torch.Tensor) else layers)
            logits, weights = from_tokens(network, observation, change)
            with torch.no_grad():
                again = observation.under(change)
            torch.testing.assert_close(again.logits, logits, rtol=0, atol=1e-12)
            for layer, expected in again.attention.items():
                torch.testing.assert_close(expected, weights[layer], rtol=0, atol=1e-12)


def test_layers_below_the_tampered_one_are_not_run_again():
    observation = observed(classifier(layers=3))
    run = []
    for place, layer in enumerate(observation.network.encoder.layers):
        layer.attention.register_forward_hook(lambda *_, place=place: run.append(place))
    observation.under(Intervention("projection", Entmax15(), [list(observation.attention)[1]]))
    assert run == [1, 2]


def test_weights_put_in_need_no_queries_unless_their_scores_are_looked_at():
    observation = observed(classifier())
    (layer, weights), *_ = observation.attention.items()
    asked = []
    attending(observation.network)[layer].query.register_forward_hook(lambda *_: asked.append(layer))
    observation.under(Intervention("weights", weights, [layer]))
    assert not asked
    with recorded(observation.network, "scores") as scores:
        observation.under(Intervention("weights", weights, [layer]))
    assert asked
    assert layer in scores


def test_tampering_twice_begins_anew_and_outer_interventions_stay_in_force():
    network = classifier(layers=3)
    observation = observed(network)
    first, _, last = (Intervention("projection", Entmax15(), [layer]) for layer in observation.attention)
    with torch.no_grad():
        again = observation.under(first).under(last)
        torch.testing.assert_close(again.logits, from_tokens(network, observation, last)[0])
        with intervene(network, first):
            both = observation.under(last)
            tampered = observe_layers(network, *ragged_batch([6, 1, 3, 9], 0))
        torch.testing.assert_close(both.logits, from_tokens(network, observation, first, last)[0])
        assert not tampered.inputs, "what was seen under tampering is nothing to go on from"


class OfAllLayers(TransformerClassifier):
    """Decides by the states of all layers, so that a pass needs each of them."""

    def encode(self, tokens, mask):
        states = []
        with hooked(self.encoder.layers, lambda _layer, _inputs, output: states.append(output)):
            self.encoder(tokens, mask)
        return torch.stack(states).sum(dim=0)


class Louder(TransformerClassifier):
    """Decides otherwise by the same states."""

    def forward(self, tokens, mask):
        return 3 * super().forward(tokens, mask)


@pytest.mark.parametrize(("kind", "begins_at_layers"), [(OfAllLayers, False), (Louder, True)])
def test_a_network_that_needs_all_layers_is_run_from_its_tokens(kind, begins_at_layers):
    torch.manual_seed(0)
    observation = observed(spread(kind(VOCABULARY, 1, size=8, layers=2, heads=2, feedforward_size=16)))
    assert bool(observation.inputs) == begins_at_layers
    change = Intervention("projection", Entmax15(), list(observation.attention)[1:])
    with torch.no_grad():
        logits = observation.under(change).logits
    torch.testing.assert_close(logits, from_tokens(observation.network, observation, change)[0], rtol=0, atol=1e-12)


def test_scores_are_computed_where_they_are_looked_at_beneath_weights_put_in():
    observation = observed(classifier())
    (layer, weights), *_ = observation.attention.items()
    put_in = Intervention("weights", weights, [layer])
    with torch.no_grad(), intervene(observation.network, put_in), recorded(observation.network, "scores") as scores:
        observation.network(observation.tokens, observation.mask)
    assert layer in scores
