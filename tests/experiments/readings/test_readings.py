"""Every reading against a definition that shares no code with it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from torch import nn

from attest.core.attention import Sparsemax
from attest.experiments import erasure_until_flip, feature_importance, observe, single_erasure
from attest.experiments.erasure.read_anew import reading_embedded
from attest.experiments.readings import (
    READINGS,
    Clock,
    formulas,
    read_as,
    reading_of,
    readings_of,
    side_by_side,
    suited_readings,
    where_explained,
)
from attest.experiments.readings.compared import _rankings
from attest.experiments.readings.formulas import _flows, along_the_path, flow, relevance_propagation
from attest.experiments.readings.values import value_zeroing
from attest.models.networks.transformer import TransformerClassifier
from attest.models.observation import GivenReading
from tests.experiments.networks import DeepDecoder, FourSteps, Given, observation_of, pooling_classifier

LENGTHS = [6, 1, 2, 9, 5]
SHIPPED = {name for name, reading in READINGS.items() if not reading.by_name}


def transformer(layers=2, outputs=1):
    torch.manual_seed(0)
    return TransformerClassifier(50, outputs, 16, layers, 2, 16).double().eval()


def padding_is_zero(network):
    """As in every network that we make, so that texts of padding are the baseline of zeros."""
    lookup = next(module for module in network.modules() if isinstance(module, nn.Embedding))
    with torch.no_grad():
        lookup.weight[0] = 0
    return network, lookup


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("network", [pooling_classifier, lambda outputs: transformer(outputs=outputs)])
def test_integrated_gradients_are_those_of_captum(network, outputs):

    bare, lookup = padding_is_zero(network(outputs))
    observation = observation_of(bare, [6, 9, 4])

    def forward(tokens, mask):
        logits = bare(tokens, mask)
        return torch.cat([1 - logits.sigmoid(), logits.sigmoid()], -1) if outputs == 1 else logits.softmax(-1)

    attributions = LayerIntegratedGradients(forward, lookup).attribute(
        observation.tokens,
        baselines=torch.zeros_like(observation.tokens),  # the embedding of padding is 0
        target=observation.predicted,
        additional_forward_args=(observation.mask,),
        n_steps=20,
    )
    expected = attributions.sum(dim=-1).masked_fill(~observation.mask, 0)
    np.testing.assert_allclose(reading_of("integrated-gradients", observation).of(observation), expected.detach(), atol=1e-8)


def test_integrated_gradients_add_up_to_the_change():
    observation = observation_of(padding_is_zero(pooling_classifier())[0], [6, 9, 4])
    total = reading_of("integrated-gradients", observation).of(observation).sum(dim=-1)
    nothing = observe(observation.network, None, torch.zeros_like(observation.tokens), observation.mask).probabilities
    chosen = observation.predicted.unsqueeze(-1)
    expected = (observation.probabilities - nothing).gather(-1, chosen).squeeze(-1)
    np.testing.assert_allclose(total, expected, atol=1e-3)


def test_readings_of_a_text_by_hand():
    observation = Given([0.6, 0.3, 0.1], [1.0, -2.0, 5.0]).observed()  # 0.5: class 1
    slope = torch.tensor(0.5).double().sigmoid() * torch.tensor(-0.5).double().sigmoid()
    expected = {
        "attention": [0.6, 0.3, 0.1],
        "norm": [0.6, 0.6, 0.5],
        "margin": [0.6, -0.6, 0.5],
        "attention-gradient": [0.6 * slope, -0.6 * slope, 0.5 * slope],
        "gradient-input": [0.6 * slope, -0.6 * slope, 0.5 * slope],
        "value-zeroing": [2.0, 0.0, 1.0],  # of a context of one number: its sign turns, stays, or nothing is left
    }
    for name, values in expected.items():
        np.testing.assert_allclose(reading_of(name, observation).of(observation).detach()[0], values, atol=1e-7, err_msg=name)


def test_margins_add_up_to_the_log_odds():
    observation = observation_of(pooling_classifier(), LENGTHS)
    p = observation.probabilities.amax(dim=-1)
    total = reading_of("margin", observation).of(observation).sum(dim=-1)
    np.testing.assert_allclose(total, (p / (1 - p)).log(), atol=1e-9)


def test_value_zeroing_of_one_layer_is_a_layer_without_that_value():
    observation = observation_of(transformer(1), [4])
    layer = observation.network.encoder.layers[0]
    seen = []
    with torch.no_grad():
        handle = layer.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        clean = observation.network.encode(observation.tokens, observation.mask)
        handle.remove()
        distances = torch.zeros(4, 4)
        for token in range(4):

            def zeroed(module, inputs, output, token=token):
                output = output.clone()
                output[:, token] = 0
                return output

            handle = layer.attention.value.register_forward_hook(zeroed)
            distances[:, token] = 1 - torch.cosine_similarity(layer(seen[0], observation.mask), clean, dim=-1)[0]
            handle.remove()
    expected = (distances / distances.sum(dim=-1, keepdim=True)).mean(dim=0)
    np.testing.assert_allclose(value_zeroing(observation)[0], expected, atol=1e-6)


def test_flow_through_one_layer_is_bounded_by_both_sides():
    observation = observation_of(transformer(1), [4, 3])
    weights = observation.network.encoder.layers[0].attention
    from attest.experiments.layers import observe_layers

    (attention,) = observe_layers(observation.network, None, observation.tokens, observation.mask).attention.values()
    assert weights.heads == 2
    for row, length in enumerate([4, 3]):
        mixed = 0.5 * (attention[row].mean(dim=0)[:length, :length] + torch.eye(length))
        expected = torch.minimum(mixed, torch.full_like(mixed, 1 / length)).sum(dim=0)
        np.testing.assert_allclose(flow(observation)[row, :length], expected.detach(), atol=1e-5)


def test_flow_goes_from_the_last_layer_down_to_the_first():
    """By hand: all of the text is the first token's, the last layer leaves it there, the first layer hands most of it on."""
    first, last = np.array([[0.2, 0.8], [0.9, 0.1]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_allclose(_flows([first, last], np.array([1.0, 0.0])), [0.2, 0.8], atol=1e-6)


def test_long_texts_have_no_flow():
    observation = observation_of(transformer(1), [30, 3])
    flows = flow(observation)
    assert flows[0].isnan().all()
    assert flows[1, :3].isfinite().all()


def test_relevance_is_conserved_but_for_biases():
    network = transformer(2)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    observation = observation_of(network, [5, 3])
    without_places = relevance_propagation(observation)
    assert without_places.abs().sum() > 0
    from attest.models.networks import transformer as room

    places = room.sinusoids
    room.sinusoids = lambda length, size: places(length, size) * 0
    try:
        observation = observation_of(network, [5, 3])
        total = relevance_propagation(observation).sum(dim=-1)
    finally:
        room.sinusoids = places
    sign = torch.where(observation.predicted == 1, 1, -1)
    np.testing.assert_allclose(total, sign * observation.logits.detach()[:, 0], atol=1e-9)


def test_networks_get_the_readings_that_suit_them(refusal):
    pooled, layered = observation_of(pooling_classifier(), LENGTHS), observation_of(transformer(), LENGTHS)
    assert {each.name for each in suited_readings(pooled)} == SHIPPED - {
        "rollout",
        "flow",
        "lrp",
        "cross-attention",
        "contribution",
        "alti",
    }
    assert {each.name for each in suited_readings(layered)} == SHIPPED - {
        "attention",
        "attention-gradient",
        "cross-attention",
    }
    deep = observation_of(DeepDecoder(pooling_classifier()), LENGTHS)
    with refusal():
        reading_of("margin", deep)
    with refusal():
        reading_of("alpha", deep)
    with refusal():
        reading_of("deeplift", deep)


@pytest.mark.parametrize("network", [pooling_classifier(), FourSteps(pooling_classifier()), transformer()])
def test_padding_changes_no_reading(network):
    together, alone = observation_of(network, [5, 9]), observation_of(network, [5, 9]).part(torch.tensor([0]))
    alone = observe(network, alone.ids, alone.tokens, alone.mask)
    for name, values in readings_of(together).items():
        np.testing.assert_allclose(values[0, :5], readings_of(alone)[name][0], atol=1e-8, err_msg=name)
        assert (values[0, 5:] == 0).all()


def test_a_reading_stands_in_for_attention_in_every_experiment():
    observation = observation_of(pooling_classifier(), [8] * 6)
    other = read_as(observation, "random")
    assert torch.equal(other.explanation, READINGS["random"].magnitude(observation))
    assert not torch.equal(
        feature_importance(observation)["tau_gradient_inputs"], feature_importance(other)["tau_gradient_inputs"]
    )
    assert not torch.equal(single_erasure(observation)["js_top"], single_erasure(other)["js_top"])
    flips = [erasure_until_flip(each)["fraction_attention"].nan_to_num() for each in (observation, other)]
    assert not torch.equal(*flips)
    assert torch.equal(*(erasure_until_flip(each)["fraction_minimum"].nan_to_num() for each in (observation, other)))
    assert read_as(observation, "attention") is observation


def test_a_signed_reading_ranks_by_magnitude_and_by_sign():
    rankings = _rankings({"margin": torch.tensor([[0.5, -0.9, 0.4]]), "norm": torch.tensor([[0.3, 0.1, 0.2]])}, ["margin"])
    ranks = {name: values.argsort(descending=True).tolist() for name, values in rankings.items()}
    assert ranks == {"margin": [[1, 0, 2]], "norm": [[0, 2, 1]], "margin_signed": [[0, 2, 1]]}


def test_integrated_gradients_take_more_points_where_they_help():
    """Sparse attention and relu bend the path; what is left is less than a hundredth, and is told."""
    torch.manual_seed(0)
    network = TransformerClassifier(50, 1, 16, 2, 2, 16, projection=Sparsemax()).double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    observation = observation_of(network, [6, 9, 4, 12, 3, 7] * 4)
    nothing = reading_embedded(observation, torch.zeros_like(observation.embedded))
    expected = observation.of_predicted(observation.probabilities) - observation.of_predicted(nothing)
    at_once = (expected - along_the_path(observation, torch.arange(24), 20).sum(dim=-1)).abs()
    assert at_once.max() > 0.04
    gap = formulas.completeness_gap(observation)
    assert gap.max() < 0.01
    np.testing.assert_allclose(gap, (expected - formulas.integrated_gradients(observation).sum(dim=-1)).abs(), atol=1e-12)
    assert torch.equal(gap[at_once < 0.001], at_once[at_once < 0.001]), "as it was where nothing is missing"


def test_a_reading_that_is_undefined_has_no_number_in_any_experiment(monkeypatch):
    observation = observation_of(pooling_classifier(), [8] * 4)
    gap = torch.tensor([0.0, 0.2, 0.0, 0.0]).double()
    values = torch.rand(4, 8, dtype=torch.float64)
    monkeypatch.setattr(formulas, "_integrated", lambda _: (values, gap))
    columns = side_by_side(observation, observation.ids)
    for name, column in columns.items():
        if "integrated_gradients" in name and not name.startswith("gap"):
            assert column.isnan()[1], name
    assert columns["gap_integrated_gradients"].tolist() == gap.tolist()
    read = read_as(observation, "integrated-gradients")
    found = where_explained(read, single_erasure(read) | erasure_until_flip(read))
    assert all(column[1].isnan() for column in found.values())
    assert found["flips_top_bias"][[0, 2, 3]].isfinite().all()


def test_the_same_random_sets_for_all_and_a_perfect_truth():
    observation = observation_of(pooling_classifier(), [8] * 6)
    truth = torch.zeros_like(observation.mask)
    truth[:, 2] = True
    clock = Clock()
    columns = side_by_side(observation, observation.ids[:4], truth=truth, clock=clock)
    assert columns["win_comprehensiveness_attention"][:4].isfinite().all()
    assert all(column[4:].isnan().all() for column in columns.values())
    assert set(clock.seconds) == set(clock.a_text()) == {each.name for each in suited_readings(observation)}
    assert clock.texts == 4
    hangs = columns["hangs_on_truth"] == 1
    assert torch.equal(columns["precision_oracle"][hangs], torch.ones(int(hangs.sum())).double())
    assert columns["precision_oracle"][~hangs].isnan().all()
    assert (columns["naopc_comprehensiveness_margin_signed"][:4] >= columns["naopc_comprehensiveness_random"][:4]).all()


def test_a_signed_explanation_of_the_users_own_with_a_hyphen_ranks_by_its_sign_too():
    observation = observation_of(pooling_classifier(), [5, 8])
    values = torch.randn(observation.mask.shape, dtype=torch.float64).masked_fill(~observation.mask, 0)
    own = replace(observation, given={"my-method": GivenReading(values, signed=True)})
    columns = side_by_side(own, own.ids)
    assert {"comprehensiveness_my_method", "comprehensiveness_my_method_signed"} <= columns.keys()
