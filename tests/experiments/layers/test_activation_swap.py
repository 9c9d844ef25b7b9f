"""Swaps against networks that have the other projection in that very layer."""

import copy

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from attest.core.attention import Entmax, Softmax, Sparsemax
from attest.core.attention.interventions import attending
from attest.core.measures import probabilities
from attest.experiments.layers import layer_activation_swap, observe_layers
from tests.experiments.layers.networks import LENGTHS, alone, classifier, observed, tagger
from tests.experiments.networks import pooling_classifier, ragged_batch

LABELS = torch.tensor([1, 0, 1, 0])


@pytest.mark.parametrize(("suffix", "swapped"), [("", [0, 1]), ("_layer1", [0]), ("_layer2", [1])])
@pytest.mark.parametrize("outputs", [1, 3])
def test_equals_a_network_made_with_the_other_projection_there(suffix, swapped, outputs):
    observation = observed(classifier(outputs))
    columns = layer_activation_swap(observation, LABELS, {"sparsemax": Sparsemax()})
    other = copy.deepcopy(observation.network)
    layers = list(attending(other))
    for place in swapped:
        attending(other)[layers[place]].projection = Sparsemax()
    for row in range(4):
        before = alone(observation, row)
        after = observe_layers(other, before.ids, before.tokens, before.mask)
        p, q = (probabilities(each.logits)[0].detach().numpy() for each in (before, after))
        assert columns[f"correct_sparsemax{suffix}"][row] == (q.argmax() == LABELS[row].item())
        np.testing.assert_allclose(columns[f"tvd_sparsemax{suffix}"][row], 0.5 * np.abs(p - q).sum(), atol=1e-9)
        distances, supports = [], []
        for place in swapped:
            clean, tampered = (each.attention[layers[place]][0].detach().numpy() for each in (before, after))
            distances += [jensenshannon(clean[n, t], tampered[n, t]) ** 2 for n in range(2) for t in range(LENGTHS[row])]
            supports.append((tampered > 0).mean())
        np.testing.assert_allclose(columns[f"jsd_sparsemax{suffix}"][row], np.nan_to_num(distances).mean(), atol=1e-9)
        np.testing.assert_allclose(columns[f"support_sparsemax{suffix}"][row], np.mean(supports), rtol=1e-6)


def test_the_trained_projection_moves_nothing():
    columns = layer_activation_swap(observed(classifier()), LABELS, {"softmax": Softmax()})
    for suffix in ("", "_layer1", "_layer2"):
        assert columns[f"tvd_softmax{suffix}"].max() == columns[f"jsd_softmax{suffix}"].max() == 0
        assert torch.equal(columns[f"support{suffix}"], torch.ones(4, dtype=torch.float64))


def test_nothing_is_run_again_under_the_trained_projection():
    observation = observed(classifier())
    passes = []
    observation.network.decoder.register_forward_hook(lambda *_: passes.append(1))
    layer_activation_swap(observation, LABELS, {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax": Entmax(1.0)})
    assert len(passes) == 2 * 3, "two projections that are not known to be the trained one, all layers and each of two alone"


def test_a_tagger_is_scored_by_the_share_of_its_tokens():
    observation = observed(tagger())
    tags = torch.where(observation.mask, observation.predicted, -100)
    tags[0, :2] = (tags[0, :2] + 1) % 3
    columns = layer_activation_swap(observation, tags, {"softmax": Softmax(), "sparsemax": Sparsemax()})
    np.testing.assert_allclose(columns["correct"], [4 / 6, 1, 1, 1])
    assert torch.equal(columns["correct_softmax"], columns["correct"])
    p, q = (
        probabilities(alone(each, 2).logits)[0].numpy()
        for each in (observation, observed(_with(observation.network, Sparsemax())))
    )
    np.testing.assert_allclose(columns["tvd_sparsemax"][2], 0.5 * np.abs(p - q).sum(-1).mean(), atol=1e-9)
    assert not any("_layer" in name for name in columns), "one layer alone is all layers"


def test_a_network_without_self_attention_is_refused(refusal):
    with refusal():
        observe_layers(pooling_classifier(), *ragged_batch(LENGTHS))


def _with(network, projection):
    other = copy.deepcopy(network)
    for layer in attending(other).values():
        layer.projection = projection
    return other
