"""Ranks and effective attention of heads against E W^V W^O written out in full."""

import numpy as np
import pytest
import torch
from torch import nn

from attest.core import memory
from attest.core.attention.interventions import attending
from attest.experiments.layers import layer_identifiability
from tests.experiments.layers.networks import LENGTHS, alone, classifier, observed


def head_matrices(observation, layer, row):
    """T of each head of one text, from what enters the layer: value bias included, output bias not."""
    text, entered = alone(observation, row), []
    attention = attending(observation.network)[layer]
    hook = attention.register_forward_pre_hook(lambda _module, inputs: entered.append(inputs[0][0]))
    with torch.no_grad():
        observation.network(text.tokens, text.mask)
    hook.remove()
    size = attention.value.out_features // attention.heads
    heads = [slice(n * size, (n + 1) * size) for n in range(attention.heads)]
    with torch.no_grad():
        values = [entered[0] @ attention.value.weight[head].T + attention.value.bias[head] for head in heads]
        outputs = [value @ attention.output.weight[:, head].T for value, head in zip(values, heads, strict=True)]
    return [output.numpy() for output in outputs], text.attention[layer][0].numpy()


@pytest.mark.parametrize("strict", ["", "_strict"])
def test_heads_equal_the_pseudo_inverse(strict):
    observation = observed(classifier())
    columns = layer_identifiability(observation)
    for place, layer in enumerate(observation.attention, start=1):
        for row, length in enumerate(LENGTHS):
            matrices, weights = head_matrices(observation, layer, row)
            if strict:
                matrices = [np.hstack([matrix, np.ones((length, 1))]) for matrix in matrices]
            ranks = [np.linalg.matrix_rank(matrix, rtol=1e-12) for matrix in matrices]
            effective = [w @ m @ np.linalg.pinv(m, rtol=1e-12) for w, m in zip(weights, matrices, strict=True)]
            apart = np.abs(weights - np.stack(effective)).sum(axis=-1)
            assert columns[f"rank{strict}_layer{place}"][row] == np.mean(ranks)
            assert columns[f"trivial{strict}_layer{place}"][row] == np.mean([rank == length for rank in ranks])
            np.testing.assert_allclose(columns[f"l1{strict}_layer{place}"][row], apart.mean(), atol=1e-9)
    for name in ("rank", "trivial", "l1"):
        both = (columns[f"{name}{strict}_layer1"] + columns[f"{name}{strict}_layer2"]) / 2
        torch.testing.assert_close(columns[f"{name}{strict}"], both)


def test_a_head_that_puts_out_nothing_determines_nothing():
    network = classifier(layers=1)
    (layer,) = attending(network).values()
    with torch.no_grad():
        layer.output.weight[:, :4] = 0
    columns = layer_identifiability(observed(network))
    assert columns["rank"].tolist() == [2, 0.5, 1.5, 2], "of two heads with 4 dimensions each, one is blind"
    assert columns["trivial"].tolist() == [0, 0.5, 0.5, 0]


def test_it_does_not_depend_on_memory_and_leaves_no_hook(monkeypatch):
    observation = observed(classifier())
    together = layer_identifiability(observation)
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(layer_identifiability(observation), together, equal_nan=True)
    assert not any(module._forward_hooks for module in observation.network.modules() if isinstance(module, nn.Linear))
