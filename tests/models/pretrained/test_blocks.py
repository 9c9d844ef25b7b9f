"""A tampered pass that begins at its first tampered layer, in models of transformers; and where it is not offered."""

import pytest
import torch

from attest.core.attention import Sparsemax
from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.experiments.activation_swap import SHIPPED
from attest.experiments.layers import key_shuffle, layer_activation_swap, layer_permutation, observe_layers
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import PromptedNetwork
from tests.models.pretrained.tiny import DECODERS, ENCODERS, batch, tiny

EVERY = [*ENCODERS, *DECODERS]
LAYERS = 3
DEEP = {"num_hidden_layers": LAYERS}
LABELS = torch.tensor([0, 1, 2])


class Louder(PretrainedNetwork):
    """Decides otherwise, by a forward pass of its own."""

    def forward(self, tokens, mask):
        return 3 * super().forward(tokens, mask)


MAKERS = {name: lambda name=name: PretrainedNetwork(tiny(name), 0) for name in [*EVERY, "albert", "bart"]} | {
    "prompted": lambda: PromptedNetwork(tiny("llama", speaks=True), 0, [7, 8]),
    "tagger": lambda: PretrainedNetwork(tiny("bert", tokens=True), 0),
    "louder": lambda: Louder(tiny("llama"), 0),
}


@torch.no_grad()
def observed(network, tokens=None):
    given, mask = batch()
    return observe_layers(network, torch.arange(3), given if tokens is None else tokens, mask)


@pytest.mark.parametrize("name", MAKERS)
@torch.no_grad()
def test_a_pass_from_the_first_tampered_layer_is_the_whole_pass_bit_for_bit(name):
    network = MAKERS[name]()
    observation = observed(network)
    assert bool(observation.inputs) == (name not in ("albert", "bart")), "one module for all layers, and two lists of layers"
    for layers in observation.scopes.values():
        change = Intervention("projection", Sparsemax(), layers)
        with intervene(network, change), recorded(network, "weights") as weights:
            logits = network(observation.tokens, observation.mask)
        again = observation.under(change)
        assert torch.equal(again.logits, logits)
        assert not torch.equal(logits, observation.logits)
        assert all(torch.equal(again.attention[layer], weights[layer]) for layer in observation.attention)


@torch.no_grad()
def test_a_text_that_ends_as_padding_looks_is_decided_where_the_model_does():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()
    tokens[1, -2:] = 0
    observation = observed(network, tokens)
    change = Intervention("projection", Sparsemax(), list(observation.attention)[1:])
    with intervene(network, change):
        logits = network(tokens, mask)
    assert torch.equal(observation.under(change).logits, logits)


IN_TUPLES = {
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "pad_token_id": 0},
    "mpnet": {"pad_token_id": 0},
    "bloom": {"n_head": 2, "pad_token_id": 0},
    "gptj": {"n_head": 2, "rotary_dim": 4, "pad_token_id": 0},
}


@pytest.mark.parametrize("name", IN_TUPLES)
@torch.no_grad()
def test_layers_that_return_tuples_are_left_out_bit_for_bit(name):
    network = PretrainedNetwork(tiny(name, **IN_TUPLES[name]), 0)
    observation = observed(network)
    assert observation.inputs
    change = Intervention("projection", Sparsemax(), list(observation.attention)[1:])
    with intervene(network, change), recorded(network, "weights") as weights:
        logits = network(observation.tokens, observation.mask)
    again = observation.under(change)
    assert torch.equal(again.logits, logits)
    assert not torch.equal(logits, observation.logits)
    assert all(torch.equal(again.attention[layer], weights[layer]) for layer in list(observation.attention)[1:])


@torch.no_grad()
def test_layers_below_the_tampered_one_are_not_run_again():
    network = PretrainedNetwork(tiny("llama", **DEEP), 0)
    observation, run = observed(network), []
    for place, layer in enumerate(network.model.model.layers):
        layer.self_attn.register_forward_hook(lambda *_, place=place: run.append(place))
    observation.under(Intervention("projection", Sparsemax(), [list(observation.attention)[1]]))
    assert run == [1, 2]


@pytest.mark.parametrize("name", ["llama", "bert"])
@torch.no_grad()
def test_evidence_is_that_of_whole_passes(name, monkeypatch):
    def evidence():
        observation = observed(PretrainedNetwork(tiny(name, **DEEP), 0))
        columns = layer_activation_swap(observation, LABELS, SHIPPED) | key_shuffle(observation, LABELS, 5, 2)
        return bool(observation.inputs), columns | (
            layer_permutation(observation, LABELS, 5, 2) if observation.network.attends_everywhere else {}
        )

    resumed, columns = evidence()
    monkeypatch.setattr(PretrainedNetwork, "blocks", {})
    still, whole = evidence()
    assert (resumed, still) == (True, False)
    for column, expected in whole.items():
        torch.testing.assert_close(columns[column], expected, rtol=0, atol=1e-6, equal_nan=True)


@torch.no_grad()
def test_what_is_seen_under_tampering_is_nothing_to_go_on_from():
    network = PretrainedNetwork(tiny("llama"), 0)
    with intervene(network, Intervention("projection", Sparsemax(), ["calls.0"])):
        tampered = observed(network)
    assert not tampered.inputs


def leaning(how):
    """A Llama whose last layer needs something of its first beside the hidden states, and says so if it is missing or not."""
    network, kept = PretrainedNetwork(tiny("llama", **DEEP), 0), {}
    first, *_, last = network.model.model.layers
    first.mlp.register_forward_hook(lambda module, given, output: kept.update(first=output))
    last.mlp.register_forward_hook(lambda module, given, output: output + how(kept))
    return network


@pytest.mark.parametrize(
    "how",
    [lambda kept: kept.pop("first"), lambda kept: kept.pop("first", torch.zeros(()))],
    ids=["fails", "decides otherwise"],
)
@torch.no_grad()
def test_a_model_whose_layers_need_more_than_what_enters_them_is_run_as_a_whole(how):
    observation = observed(leaning(how))
    assert not observation.inputs
    assert not observation.network.model.training
    layers = list(observation.attention)
    change = Intervention("projection", Sparsemax(), layers[1:])
    with intervene(observation.network, change):
        logits = observation.network(observation.tokens, observation.mask)
    assert torch.equal(observation.under(change).logits, logits)


@torch.no_grad()
def test_the_layers_are_as_they_were_also_after_an_exception():
    network = PretrainedNetwork(tiny("llama", **DEEP), 0)
    first, second, _ = network.model.model.layers
    own = first.forward
    first.forward = lambda *arguments, **named: own(*arguments, **named)
    put_there = first.forward
    observation = observed(network)

    def fail(weights, mask):
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        observation.under(Intervention("weights", fail, [list(observation.attention)[2]]))
    assert vars(first)["forward"] is put_there
    assert "forward" not in vars(second)
    assert torch.equal(network(observation.tokens, observation.mask), observation.logits)


@torch.no_grad()
def test_looking_for_the_layers_leaves_a_model_in_its_mode():
    model = tiny("bert", hidden_dropout_prob=0.5).train()
    assert len(PretrainedNetwork(model, 0).blocks) == 2
    assert model.training
