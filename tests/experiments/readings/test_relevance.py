"""LRP through RMSNorm: against a plain loop over a tiny Llama's own parameters with attention and scales held."""

import numpy as np
import pytest
import torch
from torch.nn.functional import silu

pytest.importorskip("transformers", reason="needs the extra transformers")

from attest.experiments import observe
from attest.experiments.readings import reading_of
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import tiny


def scale(states, norm):
    return norm.weight / (states.square().mean(dim=-1, keepdim=True) + norm.variance_epsilon).sqrt()


def relevance(model, tokens, attentions, embedded, predicted):
    """One text: the pass written out, whose gradient sees attention weights and scales as constants."""
    states = embedded
    for layer, weights in zip(model.model.layers, attentions, strict=True):
        own = layer.self_attn
        inside = states * scale(states, layer.input_layernorm).detach()
        values = own.v_proj(inside).unflatten(-1, (-1, own.head_dim)).transpose(0, 1)
        values = values.repeat_interleave(weights.shape[0] // len(values), dim=0)
        states = states + own.o_proj((weights.detach() @ values).transpose(0, 1).flatten(1))
        inside = states * scale(states, layer.post_attention_layernorm).detach()
        states = states + layer.mlp.down_proj(silu(layer.mlp.gate_proj(inside)) * layer.mlp.up_proj(inside))
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


def test_relevance_is_conserved_where_nothing_bends_it():
    """Without its gates a Llama has no bias and no curve: the relevance of the tokens is the margin."""
    model = tiny("llama")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.mlp.down_proj.weight.zero_()
    tokens = torch.tensor([[5, 9, 11, 7], [6, 8, 10, 0]])
    observation = observe(PretrainedNetwork(model, 0), torch.arange(2), tokens, tokens != 0)
    total = reading_of("lrp", observation).of(observation).sum(dim=-1)
    logits = observation.logits.detach()
    picked = observation.predicted.unsqueeze(-1)
    margin = logits.gather(-1, picked).squeeze(-1) - logits.scatter(-1, picked, 0).sum(dim=-1) / (logits.shape[-1] - 1)
    np.testing.assert_allclose(total, margin, atol=1e-6)
    assert margin.abs().max() > 1e-4
