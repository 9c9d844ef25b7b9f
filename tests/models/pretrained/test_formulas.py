"""Formulas of our own that stand in for parts of somebody's model are held against it."""

import pytest
import torch

from attest.core.attention import Softmax
from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.core.errors import AttestError
from attest.experiments import observe
from attest.experiments.layers import observe_layers
from attest.experiments.readings import side_by_side
from attest.experiments.readings.formulas import completeness_gap, integrated_gradients, relevance_propagation
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import batch, tiny


def observed(name, **settings):
    network = PretrainedNetwork(tiny(name, **settings), 0).eval()
    return observe(network, torch.arange(3), *batch())


@pytest.mark.parametrize("settings", [{"norm_bias": False}, {"norm_bias": True}])
def test_relevance_is_that_of_the_network_with_constant_denominators(settings):
    """The linearised pass has the network's own logits, with and without a bias in its layer norms."""
    values = relevance_propagation(observed("modernbert", **settings))
    assert values.isfinite().all()
    assert values.abs().sum() > 0


def test_relevance_is_undefined_where_the_linearised_pass_is_another_network():
    observation = observed("bert")
    norm = observation.network.model.bert.encoder.layer[0].output.LayerNorm
    handle = norm.register_forward_hook(lambda module, inputs, output: 1.5 * output)
    try:
        other = observe(observation.network, None, observation.tokens, observation.mask)
        norm._forward_hooks.move_to_end(handle.id, last=False)  # before what linearises, which then writes over it
        assert relevance_propagation(other)[other.mask].isnan().all()
    finally:
        handle.remove()
    assert relevance_propagation(observation).isfinite().all()


@pytest.mark.whole("many repetitions")
@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma2", "modernbert"])
def test_integrated_gradients_through_a_first_norm_are_undefined_and_say_how_far_off(name):
    observation = observed(name)
    gap = completeness_gap(observation)
    values = integrated_gradients(observation)
    assert torch.equal(values[:, 0].isnan(), gap > 0.01)
    assert (gap > 0.01).any()
    columns = side_by_side(observation, observation.ids, sets=2)
    assert torch.equal(columns["win_comprehensiveness_integrated_gradients"].isnan(), gap > 0.01)
    torch.testing.assert_close(columns["gap_integrated_gradients"], gap.double())


def test_integrated_gradients_of_a_bert_add_up():
    observation = observed("bert")
    assert (completeness_gap(observation) < 1e-3).all()


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rounding_in_half_precision_is_no_sink(dtype):
    """Softmax again leaves weights where they were, to one step of the dtype: their logarithms keep all digits."""
    network = PretrainedNetwork(tiny("bert").to(dtype), 0)
    tokens, mask = batch((60, 50))
    with recorded(network, "weights") as own:
        network(tokens, mask)
    (first, *_) = own
    with intervene(network, Intervention("projection", Softmax(), [first])), recorded(network, "weights") as again:
        network(tokens, mask)
    before, after = (each[first].float().transpose(1, 2)[mask] for each in (own, again))
    assert ((after - before).abs() / before.clamp(min=1e-3)).max() <= torch.finfo(dtype).eps


@torch.no_grad()
def test_a_window_is_seen_after_a_wide_batch_of_short_texts():
    network = PretrainedNetwork(tiny("modernbert", local_attention=12), 0)
    tokens, mask = batch((30, 3))
    short = mask & (torch.arange(30) < 3)
    network(tokens, short)
    assert [call.everywhere for call in network.calls] == [True, True]
    network(tokens, mask)
    assert [call.everywhere for call in network.calls] == [True, False]


@torch.no_grad()
def test_attention_that_is_not_weights_times_values_is_not_written_out():
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    own = network.calls[0].attend
    network.calls[0].attend = lambda eager, *given, **options: own(
        lambda *arguments, **named: (lambda output, weights: (1.5 * output, weights))(*eager(*arguments, **named)),
        *given,
        **options,
    )
    network(tokens, mask)
    network.calls[0]._written_out = False
    same = Intervention("weights", lambda weights, mask: weights.clone())
    with (
        intervene(network, same),
        pytest.raises(AttestError, match="BertSelfAttention does not return attention weights times values"),
    ):
        network(tokens, mask)


@torch.no_grad()
def test_a_pass_goes_on_from_a_layer_only_where_it_ends_as_the_whole_pass():
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    assert observe_layers(network, None, tokens, mask).inputs.keys() == network.blocks.keys()
    seen = []

    def remembering(_module, arguments):
        """As of a model whose later layers need what an earlier one has left: here, that it ran at all."""
        seen.append(arguments[0])

    def needing(_module, inputs, output):
        return output + 0.1 * len(seen)

    layers = network.model.bert.encoder.layer
    layers[0].attention.register_forward_pre_hook(remembering)
    layers[1].register_forward_hook(lambda *given: (needing(*given), seen.clear())[0])
    assert not observe_layers(network, None, tokens, mask).inputs
