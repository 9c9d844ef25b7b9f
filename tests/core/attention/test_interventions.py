"""Replacing keys, scores, weights and projections, and leaving no trace."""

import copy

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from attest.core.attention import DotScoring, Softmax, Sparsemax, Uniform
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.models.networks import (
    BiLSTM,
    Hierarchical,
    PoolingClassifier,
    TransformerClassifier,
    TransformerEncoder,
    TransformerTagger,
)

MASK = torch.arange(6) < torch.tensor([6, 3, 1]).unsqueeze(-1)
TOKENS = torch.randint(1, 20, (3, 6), generator=torch.Generator().manual_seed(0)) * MASK


def transformer(projection=None):
    return TransformerClassifier(20, 2, size=8, layers=2, heads=4, projection=projection).double().eval()


def pooled(encoder=BiLSTM):
    return PoolingClassifier(20, 2, encoder, DotScoring).double().eval()


def zeroed(value, mask):
    return torch.zeros_like(value)


NETWORKS = {
    "bilstm": pooled,
    "transformer-me": lambda: pooled(TransformerEncoder),
    "transformer-dr": transformer,
    "tagger": lambda: TransformerTagger(20, 2).double().eval(),
}
every_network = pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)


def test_what_attends_is_named_by_where_it_is():
    assert list(attending(pooled())) == ["attention"]
    assert list(attending(transformer())) == ["encoder.layers.0.attention", "encoder.layers.1.attention"]
    assert list(attending(pooled(TransformerEncoder))) == [*attending(transformer()), "attention"]
    assert list(attending(pooled(Hierarchical))) == ["encoder.word_attention", "attention"]


@every_network
def test_replacing_the_projection_is_having_that_projection(make):
    network = make()
    other = copy.deepcopy(network)
    for layer in attending(other).values():
        layer.projection = Sparsemax()
    with intervene(network, Intervention("projection", Sparsemax())):
        assert torch.equal(network(TOKENS, MASK), other(TOKENS, MASK))
    assert not torch.equal(network(TOKENS, MASK), other(TOKENS, MASK))


@every_network
@pytest.mark.parametrize("place", ["keys", "scores"])
def test_keys_or_scores_of_zero_attend_uniformly(make, place):
    network = make()
    with intervene(network, Intervention("projection", Uniform())):
        expected = network(TOKENS, MASK)
    with intervene(network, Intervention(place, zeroed)):
        torch.testing.assert_close(network(TOKENS, MASK), expected, atol=1e-12, rtol=0)


def test_a_fixed_tensor_of_weights_reaches_decode():
    network = pooled()
    weights = Softmax()(torch.randn(3, 6).double(), MASK)
    with intervene(network, Intervention("weights", weights)):
        tampered = network(TOKENS, MASK)
    assert torch.equal(tampered, network.decode(network.encode(TOKENS, MASK), weights))


def test_keys_of_one_layer_leave_the_layers_before_alone():
    network = transformer()
    names = list(attending(network))
    with recorded(network, "weights") as clean:
        network(TOKENS, MASK)
    with recorded(network, "weights") as tampered, intervene(network, Intervention("keys", zeroed, layers=names[1:])):
        network(TOKENS, MASK)
    assert torch.equal(clean[names[0]], tampered[names[0]])
    uniform = Uniform()(torch.zeros(3, 1, 1, 6).double(), MASK[:, None, None]).expand(3, 4, 6, 6)
    torch.testing.assert_close(tampered[names[1]], uniform)


@pytest.mark.parametrize("value", [Sparsemax(), Uniform()], ids=["sparsemax", "uniform"])
def test_a_projection_of_some_heads_leaves_the_others_alone(value):
    network = transformer()
    first = next(iter(attending(network)))
    with recorded(network, "scores") as scores, recorded(network, "weights") as clean:
        network(TOKENS, MASK)
    with recorded(network, "weights") as tampered, intervene(network, Intervention("projection", value, [first], [0, 3])):
        network(TOKENS, MASK)
    assert torch.equal(tampered[first][:, [1, 2]], clean[first][:, [1, 2]])
    expected = value(scores[first][:, [0, 3]], MASK[:, None, None])
    assert torch.equal(tampered[first][:, [0, 3]], expected)


def test_a_function_sees_its_own_heads_and_the_mask():
    network, seen = transformer(), []

    def look(keys, mask):
        seen.append((keys.shape, mask))
        return -keys

    first = next(iter(attending(network)))
    with recorded(network, "keys") as clean:
        network(TOKENS, MASK)
    with intervene(network, Intervention("keys", look, [first], [2])), recorded(network, "keys") as tampered:
        network(TOKENS, MASK)
    assert seen[0][0] == (3, 1, 6, 2)
    assert torch.equal(seen[0][1], MASK)
    assert torch.equal(tampered[first][:, 2], -clean[first][:, 2])
    assert torch.equal(tampered[first][:, [0, 1, 3]], clean[first][:, [0, 1, 3]])


def test_blocks_nest_and_the_inner_one_comes_last():
    network = pooled()
    double, add = (lambda value, mask: 2 * value), (lambda value, mask: value + 1)
    with recorded(network, "scores") as clean:
        network(TOKENS, MASK)
    with intervene(network, Intervention("scores", double)):
        with intervene(network, Intervention("scores", add)), recorded(network, "scores") as both:
            network(TOKENS, MASK)
        with recorded(network, "scores") as outer:
            network(TOKENS, MASK)
    assert torch.equal(both["attention"], 2 * clean["attention"] + 1)
    assert torch.equal(outer["attention"], 2 * clean["attention"])


@every_network
def test_a_network_leaves_the_block_as_it_entered_even_by_an_exception(make):
    network = make()
    before, state = network(TOKENS, MASK), copy.deepcopy(network.state_dict())
    modules = [name for name, _ in network.named_modules()]
    with (
        pytest.raises(ZeroDivisionError),
        intervene(network, Intervention("projection", Sparsemax()), Intervention("keys", lambda value, mask: 1 / 0)),
    ):
        network(TOKENS, MASK)
    assert torch.equal(network(TOKENS, MASK), before)
    assert [name for name, _ in network.named_modules()] == modules
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    assert all(layer.replacements == () for layer in attending(network).values())


def test_a_refused_intervention_changes_nothing():
    network = pooled()
    with (
        pytest.raises(ValueError, match="a float cannot replace a projection"),
        intervene(network, Intervention("keys", zeroed), Intervention("projection", 0.5)),
    ):
        raise AssertionError("never entered")
    assert attending(network)["attention"].replacements == ()


def test_gradients_flow_through_a_replacement():
    network = transformer()
    factor = torch.ones((), dtype=torch.float64, requires_grad=True)
    with intervene(network, Intervention("keys", lambda keys, mask: factor * keys)):
        network(TOKENS, MASK).sum().backward()
    assert factor.grad.abs() > 0


def test_training_mode_is_left_alone():
    network = transformer().train()
    with intervene(network, Intervention("keys", zeroed)):
        assert network.training
    assert network.training


@pytest.mark.whole("a network that is compiled")
def test_a_compiled_network_obeys_and_does_not_recompile():
    network = pooled()
    compilations = []

    def backend(graph, inputs):
        compilations.append(graph)
        return graph.forward

    compiled = torch.compile(network, backend=backend)
    clean = compiled(TOKENS, MASK)
    once = len(compilations)
    assert once > 0
    for value in (Sparsemax(), Uniform(), Softmax()):
        with intervene(compiled, Intervention("projection", value)):
            tampered = compiled(TOKENS, MASK)
        with intervene(network, Intervention("projection", value)):
            assert torch.equal(tampered, network(TOKENS, MASK))
        assert torch.equal(compiled(TOKENS, MASK), clean)
    assert len(compilations) == once


def test_a_network_wrapped_for_ddp_obeys(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        network = pooled()
        wrapped = DistributedDataParallel(network)
        assert list(attending(wrapped)) == list(attending(network))
        with intervene(wrapped, Intervention("scores", lambda value, mask: -value)):
            tampered = wrapped(TOKENS, MASK)
            tampered.sum().backward()
        with intervene(network, Intervention("scores", lambda value, mask: -value)):
            torch.testing.assert_close(tampered, network(TOKENS, MASK))
        assert not torch.equal(wrapped(TOKENS, MASK), tampered)
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("intervention", "sentence"),
    [
        (Intervention("keys", zeroed, ["decoder"]), "'decoder' is not an attention layer; expected one of: attention"),
        (
            Intervention("keys", zeroed, heads=[0]),
            r"heads \[0\] of layer 'attention' do not exist; expected no choice of heads",
        ),
    ],
)
def test_what_does_not_exist_is_named(intervention, sentence):
    with pytest.raises(ValueError, match=sentence), intervene(pooled(), intervention):
        pass


def test_a_head_too_many_is_named():
    with (
        pytest.raises(ValueError, match=r"heads \[4\] .* expected 0 to 3"),
        intervene(transformer(), Intervention("keys", zeroed, heads=[1, 4])),
    ):
        pass


def test_a_tensor_of_another_shape_is_refused():
    network = pooled()
    with intervene(network, Intervention("weights", torch.ones(3, 5))), pytest.raises(ValueError, match=r"\(3, 5\).*\(3, 6\)"):
        network(TOKENS, MASK)
