"""Single erasures against a plain loop over instances."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from attest.core.attention import Softmax, Sparsemax
from attest.experiments import single_erasure
from tests.experiments.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier

LENGTHS = [6, 1, 2, 9, 3, 14, 4] * 4


def outcome_without(observation, row, index):
    weights = observation.attention[row].clone()
    weights[index] = 0
    logit = observation.network.decode(observation.hidden[row : row + 1].detach(), (weights / weights.sum())[None])
    positive = torch.sigmoid(logit)[0, 0].item()
    return np.array([1 - positive, positive])


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
def test_equals_a_plain_loop(projection, wrap):
    observation = observation_of(wrap(pooling_classifier(projection=projection)), LENGTHS)
    columns = single_erasure(observation, seed=0)
    for row in range(len(LENGTHS)):
        attention = observation.attention[row]
        top = int(attention.argmax())
        if (attention > 0).sum() == 1:
            assert columns["js_top"][row].isnan()
            assert columns["neither_support"][row].isnan()
            continue
        before = observation.probabilities[row].numpy()
        after = outcome_without(observation, row, top)
        np.testing.assert_allclose(columns["js_top"][row], jensenshannon(before, after) ** 2, atol=1e-9)
        gap = columns["attention_gap_support"][row]
        other = int((attention[top] - attention - gap).abs().argmin())
        assert other != top
        assert attention[other] > 0
        random = outcome_without(observation, row, other)
        np.testing.assert_allclose(columns["js_random_support"][row], jensenshannon(before, random) ** 2, atol=1e-9)
        flips = [outcome.argmax() != before.argmax() for outcome in (after, random)]
        table = {
            "both": all(flips),
            "neither": not any(flips),
            "only_top": flips[0] > flips[1],
            "only_random": flips[1] > flips[0],
        }
        for name, expected in table.items():
            assert columns[f"{name}_support"][row] == expected


def test_the_two_by_two_table_is_complete():
    columns = single_erasure(observation_of(pooling_classifier(), LENGTHS), seed=1)
    total = sum(columns[name] for name in ("only_top", "only_random", "both", "neither"))
    assert (total[~total.isnan()] == 1).all()
    assert total.isnan().tolist() == [n == 1 for n in LENGTHS]
    np.testing.assert_allclose(columns["delta_js"], columns["js_top"] - columns["js_random"])


def test_without_anything_left_the_bias_decides():
    network = pooling_classifier()
    observation = observation_of(network, [1, 1, 1, 5])
    columns = single_erasure(observation, seed=0)
    bias = torch.sigmoid(network.decoder.bias.detach())[0].item()
    for row in range(3):
        expected = jensenshannon(observation.probabilities[row], [1 - bias, bias]) ** 2
        np.testing.assert_allclose(columns["js_top_bias"][row], expected, atol=1e-9)
        assert columns["flips_top_bias"][row] == ((bias > 0.5) != (observation.predicted[row] == 1))
    np.testing.assert_allclose(columns["js_top_bias"][3], columns["js_top"][3])


def test_over_all_tokens_a_sparse_attention_meets_weights_of_zero():
    observation = observation_of(pooling_classifier(projection=Sparsemax()), [40] * 20)
    columns = single_erasure(observation, seed=0)
    unattended = columns["attention_gap"] == observation.attention.amax(dim=-1)
    assert unattended.any()
    assert columns["js_random"][unattended].nan_to_num().abs().max() < 1e-12
