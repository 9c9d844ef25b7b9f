"""Value-aware readings of other people's models: against plain loops over the parameters of tiny ones."""

import numpy as np
import pytest
import torch

from attest.experiments import observe
from attest.experiments.readings import reading_of, suited_readings
from attest.experiments.readings.values import _norms_after
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import batch, tiny

LENGTHS = (5, 7)
PARTS = {
    "bert": ("bert.encoder.layer", "attention.self.value", "attention.output.dense"),
    "deberta-v2": ("deberta.encoder.layer", "attention.self.value_proj", "attention.output.dense"),
    "llama": ("model.layers", "self_attn.v_proj", "self_attn.o_proj"),
    "qwen3": ("model.layers", "self_attn.v_proj", "self_attn.o_proj"),
    "gpt2": ("transformer.h", None, "attn.c_proj"),
}
"""Of each architecture: its layers, and in a layer what makes the values and what reads the heads."""
DECIDES = {"bert": 0, "deberta-v2": 0, "llama": -1, "qwen3": -1, "gpt2": -1}


@pytest.fixture(scope="module", params=PARTS)
def tried(request):
    model = tiny(request.param)
    network = PretrainedNetwork(model, 0).eval()
    tokens, mask = batch(LENGTHS)
    return request.param, model, observe(network, torch.arange(2), tokens, mask)


def within(layer, name):
    for part in name.split("."):
        layer = getattr(layer, part)
    return layer


@torch.no_grad()
def inside(kind, model, ids):
    """Of one text: for each layer weights (N, T, T), values (N, T, D) and the matrix that each head is read by, (N, D, H)."""
    layers, value, reader = PARTS[kind]
    model.set_attn_implementation("eager")
    made, handles = {}, []
    for place, layer in enumerate(within(model, layers)):
        source = within(layer, value) if value else layer.attn.c_attn
        handles.append(source.register_forward_hook(lambda _m, _i, output, place=place: made.update({place: output[0]})))
    attentions = model(input_ids=ids[None], output_attentions=True).attentions
    for handle in handles:
        handle.remove()
    found = []
    for place, layer in enumerate(within(model, layers)):
        weights = attentions[place][0]
        heads, size = len(weights), 4
        values = made[place] if value else made[place].chunk(3, dim=-1)[2]
        values = values.unflatten(-1, (-1, size)).transpose(0, 1)
        values = values.repeat_interleave(heads // len(values), dim=0)
        matrix = within(layer, reader).weight
        matrix = matrix.T if value else matrix  # GPT-2's are the other way round
        found.append((weights.double(), values.double(), matrix.unflatten(0, (heads, size)).double()))
    return found


def rolled_out(kind, matrices, half):
    row = torch.zeros(len(matrices[0])).double()
    row[DECIDES[kind]] = 1
    for matrix in reversed(matrices):
        row = 0.5 * (row @ matrix + row) if half else row @ matrix
    return row


def norms(kind, model, ids):
    matrices = []
    for weights, values, read in inside(kind, model, ids):
        size = weights.shape[-1]
        matrix = torch.zeros(size, size).double()
        for i in range(size):
            for j in range(size):
                matrix[i, j] = sum(weights[h, i, j] * values[h, j] @ read[h] for h in range(len(weights))).norm()
        matrices.append(matrix / matrix.sum(dim=-1, keepdim=True))
    return rolled_out(kind, matrices, half=True)


def contributions(kind, model, ids):
    matrices = []
    for weights, values, _ in inside(kind, model, ids):
        heads, size = weights.shape[:2]
        matrix = torch.zeros(size, size).double()
        for h in range(heads):
            for i in range(size):
                output = sum(weights[h, i, j] * values[h, j] for j in range(size))
                for j in range(size):
                    aligned = torch.cosine_similarity(values[h, j], output, dim=0)
                    matrix[i, j] += weights[h, i, j] * values[h, j].norm() * aligned / output.norm() / heads
        matrices.append(matrix)
    return rolled_out(kind, matrices, half=True).abs()


@torch.no_grad()
def alti(kind, model, ids):
    layers, _, reader = PARTS[kind]
    states = model(input_ids=ids[None], output_hidden_states=True).hidden_states
    matrices = []
    for place, (weights, values, read) in enumerate(inside(kind, model, ids)):
        heads, size = weights.shape[:2]
        layer = within(model, layers)[place]
        hidden, bias = states[place][0].double(), within(layer, reader).bias
        norm = layer.attention.output.LayerNorm if "bert" in kind else None
        matrix = torch.zeros(size, size).double()
        for i in range(size):
            parts = [sum(weights[h, i, j] * values[h, j] @ read[h] for h in range(heads)) for j in range(size)]
            parts[i] = parts[i] + hidden[i]
            whole = sum(parts) if bias is None else sum(parts) + bias.double()
            if norm is not None:
                deviation = (whole.var(correction=0) + norm.eps).sqrt()
                parts = [norm.weight.double() * (part - part.mean()) / deviation for part in parts]
                whole = norm(whole.float()).double()
            for j in range(size):
                matrix[i, j] = max(0.0, whole.abs().sum() - (whole - parts[j]).abs().sum()) if weights[:, i, j].any() else 0.0
        matrices.append(matrix / matrix.sum(dim=-1, keepdim=True))
    return rolled_out(kind, matrices, half=False)


@torch.no_grad()
def zeroed(kind, model, ids):
    """In each layer the whole model is run with the value of a token 0 there, and the layer's outputs are compared."""
    layers, value, _ = PARTS[kind]
    matrices = []
    for layer in within(model, layers):
        states = []
        first = layer.register_forward_hook(
            lambda _m, _i, out, states=states: states.append(out[0][0] if isinstance(out, tuple) else out[0])
        )
        model(input_ids=ids[None])
        for token in range(len(ids)):

            def without(_module, _inputs, output, token=token):
                output = output.clone()
                output[:, token, 0 if value else output.shape[-1] // 3 * 2 :] = 0
                return output

            handle = (within(layer, value) if value else layer.attn.c_attn).register_forward_hook(without)
            model(input_ids=ids[None])
            handle.remove()
        first.remove()
        clean, *others = (each.double() for each in states)
        matrix = torch.stack([1 - torch.cosine_similarity(each, clean, dim=-1) for each in others], dim=1)
        matrices.append(matrix / matrix.sum(dim=-1, keepdim=True))
    return rolled_out(kind, matrices, half=False)


@pytest.mark.parametrize(
    ("name", "loop"),
    [("norm", norms), ("contribution", contributions), ("alti", alti), ("value-zeroing", zeroed)],
    ids=["norm", "contribution", "alti", "value-zeroing"],
)
def test_a_reading_of_somebody_elses_model_is_that_of_a_plain_loop(tried, name, loop):
    kind, model, observation = tried
    found = reading_of(name, observation).of(observation)
    for row, length in enumerate(LENGTHS):
        expected = loop(kind, model, observation.tokens[row, :length])
        np.testing.assert_allclose(found[row, :length], expected, atol=2e-5)
        assert (found[row, length:] == 0).all()
        assert expected.max() - expected.min() > 0.01
    layers = within(model, PARTS[kind][0])
    assert not [layer for layer in layers if "forward" in vars(layer)], "a layer keeps another forward"


def test_a_norm_is_part_of_the_residual_connection_where_the_layer_goes_on_from_it():
    """ModernBERT's first layer reads what enters it as it is, as BERT's do, and goes on from the sum, as BERT's do not."""
    for kind, expected in {"modernbert": [type(None)] * 2, "bert": [torch.nn.LayerNorm] * 2, "gemma2": []}.items():
        observation = observe(PretrainedNetwork(tiny(kind), 0).eval(), None, *batch())
        assert [type(norm) for norm in _norms_after(observation).values()] == expected, kind


def test_what_a_model_does_not_show_is_refused_in_a_sentence(refusal):
    shared = observe(PretrainedNetwork(tiny("albert"), 0), None, *batch())
    assert {"norm", "contribution"} < {each.name for each in suited_readings(shared)}
    with refusal():
        reading_of("value-zeroing", shared)  # its layers are one module
    network = PretrainedNetwork(tiny("llama"), 0)
    for layer in network.model.model.layers:
        layer.self_attn.o_proj = torch.nn.Sequential(layer.self_attn.o_proj, torch.nn.Tanh())
    gated = observe(network, None, *batch())
    for name in ("norm", "contribution", "alti"):
        with refusal():
            reading_of(name, gated)
    assert "value-zeroing" in {each.name for each in suited_readings(gated)}
