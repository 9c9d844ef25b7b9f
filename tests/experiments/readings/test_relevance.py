"""LRP through RMSNorm: against a plain loop over a tiny Llama's own parameters with attention, scales and gates held."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import silu

from attest.experiments import observe
from attest.experiments.readings import reading_of
from attest.experiments.readings.formulas import gates_held, relevance_gap
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import tiny


def scale(states, norm):
    return norm.weight / (states.square().mean(dim=-1, keepdim=True) + norm.variance_epsilon).sqrt()


def relevance(model, tokens, attentions, embedded, predicted):
    """One text: the pass written out, whose gradient sees attention weights, scales and gates as constants."""
    states = embedded
    for layer, weights in zip(model.model.layers, attentions, strict=True):
        own = layer.self_attn
        inside = states * scale(states, layer.input_layernorm).detach()
        values = own.v_proj(inside).unflatten(-1, (-1, own.head_dim)).transpose(0, 1)
        values = values.repeat_interleave(weights.shape[0] // len(values), dim=0)
        states = states + own.o_proj((weights.detach() @ values).transpose(0, 1).flatten(1))
        inside = states * scale(states, layer.post_attention_layernorm).detach()
        states = states + layer.mlp.down_proj(silu(layer.mlp.gate_proj(inside)).detach() * layer.mlp.up_proj(inside))
    logits = model.score((states * scale(states, model.model.norm).detach())[-1])
    others = [place for place in range(len(logits)) if place != predicted]
    (gradient,) = torch.autograd.grad(logits[predicted] - logits[others].mean(), embedded)
    return (gradient * embedded.detach()).sum(dim=-1)


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_relevance_through_rms_norms_is_that_of_a_plain_loop(kind):
    model = tiny(kind)
    with torch.no_grad():
        for part in model.modules():
            if type(part).__name__.endswith("RMSNorm"):
                part.weight.copy_(torch.rand(part.weight.shape) + 0.5)
    network = PretrainedNetwork(model, 0)
    tokens = torch.tensor([[5, 9, 11, 7], [6, 8, 10, 0]])
    observation = observe(network, torch.arange(2), tokens, tokens != 0)
    found = reading_of("lrp", observation).of(observation)
    with torch.no_grad():
        model.set_attn_implementation("eager")
        attentions = [model(input_ids=row[row != 0][None], output_attentions=True).attentions for row in tokens]
    for row, ids in enumerate(tokens):
        ids = ids[ids != 0]
        embedded = model.model.embed_tokens(ids).detach().requires_grad_()
        expected = relevance(model, ids, [each[0] for each in attentions[row]], embedded, int(observation.predicted[row]))
        np.testing.assert_allclose(found[row, : len(ids)], expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "mistral", "phi3", "gemma3_text"])
def test_relevance_is_conserved_in_gated_decoders(kind):
    """They have no biases and no position vectors: the relevance of the tokens is the margin."""
    model = tiny(kind)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)  # so that gates are far from straight
    tokens = torch.tensor([[5, 9, 11, 7], [6, 8, 10, 0]])
    observation = observe(PretrainedNetwork(model, 0), torch.arange(2), tokens, tokens != 0)
    found = reading_of("lrp", observation).of(observation)
    np.testing.assert_allclose(relevance_gap(observation, found), 0, atol=1e-4)
    assert found.sum(dim=-1).abs().max() > 1e-2


@pytest.mark.parametrize(
    ("layer", "gated"),
    [
        ({"up": nn.Linear(6, 8), "act": nn.GELU(), "down": nn.Linear(8, 6)}, False),
        ({"up": nn.Linear(6, 6), "act": nn.GELU(), "down": nn.Linear(6, 6)}, False),
        ({"up": nn.Linear(6, 3), "act": nn.GELU(), "down": nn.Linear(3, 6)}, False),
        ({"up": nn.Linear(6, 8), "gate": nn.Linear(6, 8), "act": nn.SiLU(), "down": nn.Linear(8, 6)}, True),
        ({"both": nn.Linear(6, 16), "act": nn.SiLU(), "down": nn.Linear(8, 6)}, True),
    ],
)
def test_gated_layers_are_told_from_others(layer, gated):
    network = nn.ModuleDict({"layer": nn.ModuleDict(layer)})
    width = layer["down"].in_features
    states = torch.ones(1, width, requires_grad=True)
    with gates_held(network):
        assert layer["act"](states).requires_grad != gated
    assert layer["act"](states).requires_grad, "afterwards nothing is held"
