"""A tampered pass that begins at its first tampered layer against one from the tokens on."""

import pytest
import torch
from torch import nn

from attest.core.attention import Entmax15
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.experiments.layers import observe_layers
from attest.models.networks import PoolingClassifier, TransformerClassifier, TransformerEncoder
from tests.experiments.layers.networks import classifier, observed, spread, tagger
from tests.experiments.networks import VOCABULARY, ragged_batch


class Wrapped(nn.Module):
    """As DDP holds a network."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *arguments):
        return self.module(*arguments)


class FromTokens(TransformerClassifier):
    """A network that cannot go on from the middle."""

    @property
    def resume(self):
        raise AttributeError("resume")


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
        layer.register_forward_hook(lambda *_, place=place: run.append(place))
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


def test_a_network_that_cannot_resume_is_run_from_its_tokens():
    torch.manual_seed(0)
    observation = observed(spread(FromTokens(VOCABULARY, 1, size=8, layers=2, heads=2, feedforward_size=16)))
    assert not observation.inputs
    change = Intervention("projection", Entmax15(), list(observation.attention)[1:])
    with torch.no_grad():
        logits = observation.under(change).logits
    assert torch.equal(logits, from_tokens(observation.network, observation, change)[0])


class Louder(TransformerClassifier):
    """Decides otherwise, and inherits how to go on from a layer."""

    def forward(self, tokens, mask):
        return 3 * super().forward(tokens, mask)


def test_a_network_that_overrides_forward_alone_is_run_from_its_tokens():
    torch.manual_seed(0)
    observation = observed(spread(Louder(VOCABULARY, 1, size=8, layers=2, heads=2, feedforward_size=16)))
    assert not observation.inputs
    change = Intervention("projection", Entmax15(), list(observation.attention)[1:])
    with torch.no_grad():
        logits = observation.under(change).logits
    assert torch.equal(logits, from_tokens(observation.network, observation, change)[0])


def test_scores_are_computed_where_they_are_looked_at_beneath_weights_put_in():
    observation = observed(classifier())
    (layer, weights), *_ = observation.attention.items()
    put_in = Intervention("weights", weights, [layer])
    with torch.no_grad(), intervene(observation.network, put_in), recorded(observation.network, "scores") as scores:
        observation.network(observation.tokens, observation.mask)
    assert layer in scores
