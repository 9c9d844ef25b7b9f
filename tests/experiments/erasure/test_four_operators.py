"""E14 as a whole: presets, the sample, soft scores, parameters made anew."""

import math
from copy import deepcopy

import numpy as np
import pytest
import torch

from attest.experiments import observe
from attest.experiments.erasure import Background, erasure
from attest.experiments.erasure.read_anew import AMOUNTS, _of_means, controlled_soft_scores, soft_scores, tau_randomised
from attest.models.networks import Average, PoolingClassifier
from attest.models.networks.transformer import TransformerClassifier
from tests.experiments.networks import DeepDecoder, Given, observation_of, pooling_classifier, ragged_batch

TEN = [6, 2, 9, 3, 14, 4, 5, 7, 11, 8]
BACKGROUND = Background(torch.arange(2, 50), torch.arange(0, 48, 6), torch.full((8,), 6))


@pytest.fixture(scope="module")
def everyone():
    observation = observation_of(pooling_classifier(), [*TEN, 1])
    return observation, erasure(observation, observation.ids, background=BACKGROUND)


def fall(observation, row, positions):
    """How far the probability falls where these positions alone are left; by reading that text by itself."""
    before = observation.probabilities[row, observation.predicted[row]]
    if not positions:
        logit = observation.network.decoder.bias.detach()[0]
        outcome = torch.stack([1 - logit.sigmoid(), logit.sigmoid()])
    else:
        tokens = observation.tokens[row, sorted(positions)][None]
        outcome = observe(observation.network, None, tokens, torch.ones_like(tokens, dtype=torch.bool)).probabilities[0]
    return (before - outcome[observation.predicted[row]]).item()


@pytest.mark.parametrize("row", range(10))
def test_presets_are_the_formulas_of_eraser_and_ferret_on_ten_texts(everyone, row):
    observation, columns = everyone
    length, order = TEN[row], observation.attention[row].argsort(descending=True).tolist()
    whole = set(range(length))
    eraser = [max(1, math.ceil(share * length)) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
    ferret = range(1, length + 1)
    for name, ks in (("eraser", eraser), ("ferret", ferret)):
        without = np.mean([fall(observation, row, whole - set(order[:k])) for k in ks])
        alone = np.mean([fall(observation, row, set(order[:k])) for k in ks])
        np.testing.assert_allclose(columns[f"{name}_comprehensiveness"][row], without, atol=1e-8)
        np.testing.assert_allclose(columns[f"{name}_sufficiency"][row], alone, atol=1e-8)


def test_a_text_of_one_token_has_no_numbers(everyone):
    _, columns = everyone
    assert all(column[10].isnan() for column in columns.values())


def test_numbers_lie_where_they_must(everyone):
    _, columns = everyone
    for kind in ("comprehensiveness", "sufficiency"):
        assert (columns[f"naopc_{kind}"][:10] >= -1e-9).all()
        assert (columns[f"naopc_{kind}"][:10] <= 1 + 1e-9).all()
        for operator in ("attention", "delete", "mask", "resample"):
            assert ((columns[f"win_{kind}_{operator}"][:10] >= 0) & (columns[f"win_{kind}_{operator}"][:10] <= 1)).all()


def test_texts_outside_the_sample_are_not_read_anew(everyone):
    observation, columns = everyone
    none = erasure(observation, observation.ids[:0], background=BACKGROUND)
    assert not any(name.endswith("_delete") for name in none)
    one = erasure(observation, observation.ids[3:4], background=BACKGROUND)
    assert one["comprehensiveness_delete"].isfinite().nonzero().flatten().tolist() == [3]
    np.testing.assert_array_equal(none["comprehensiveness_attention"], columns["comprehensiveness_attention"])


def test_a_text_gets_the_same_numbers_alone_and_among_others(everyone):
    observation, columns = everyone
    ids, tokens, mask = ragged_batch([*TEN, 1])
    alone = observe(observation.network, ids[4:5], tokens[4:5, :14], mask[4:5, :14])
    for name, column in erasure(alone, alone.ids, background=BACKGROUND).items():
        np.testing.assert_allclose(column[0], columns[name][4], atol=1e-9, err_msg=name)


def test_another_explanation_is_put_on_trial(everyone):
    observation, columns = everyone
    upside_down = observation.explained_by((1 - observation.attention) * observation.mask)
    other = erasure(upside_down, upside_down.ids[:0])
    assert (other["naopc_comprehensiveness"][:10] - columns["naopc_comprehensiveness"][:10]).abs().max() > 0.1
    np.testing.assert_array_equal(other["highest_comprehensiveness"], columns["highest_comprehensiveness"])


@pytest.mark.parametrize("outputs", [1, 3])
def test_transformers_and_decoders_that_are_not_linear_have_no_exact_limits(outputs):
    torch.manual_seed(0)
    transformer = TransformerClassifier(50, outputs, 16, 2, 2, 16).double().eval()
    for network in (transformer, DeepDecoder(pooling_classifier(outputs))):
        observation = observation_of(network, [5, 3, 4])
        columns = erasure(observation, observation.ids, texts=2)
        assert "naopc_comprehensiveness" not in columns
        assert columns["comprehensiveness_delete"].isfinite().sum() == 2
        searched = erasure(observation, observation.ids, beam_texts=1)
        assert searched["naopc_comprehensiveness"].isfinite().sum() == 1


@pytest.mark.whole("many repetitions")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_neither_raises_a_prediction_nor_wins(dtype):
    """Without context every token of a text of one word says the same, and whichever go, nothing changes."""
    torch.manual_seed(0)
    network = PoolingClassifier(50, 1, lambda size: Average(size, 12))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    mask = torch.arange(60) < torch.randint(2, 61, (300, 1))
    tokens = torch.randint(2, 50, (300, 1)) * mask
    observation = observe(network.to(dtype).eval(), torch.arange(300), tokens, mask)
    columns = erasure(observation, observation.ids, 300, extras=False)
    for operator in ("attention", "delete"):
        assert (columns[f"violation_{operator}"] == 0).all()
        assert (columns[f"win_comprehensiveness_{operator}"] == 0.5).all()
        assert (columns[f"win_sufficiency_{operator}"] == 0.5).all()


def test_a_prediction_that_rises_is_counted():
    observation = Given([0.5, 0.3, 0.2], [-1.0, 3.0, 3.0]).observed()  # 1.0, and 3.0 without the first
    columns = erasure(observation, observation.ids[:0])
    assert columns["violation_attention"].tolist() == [1.0]


def test_soft_scores_at_both_ends():
    observation = observation_of(pooling_classifier(), TEN)
    scores = soft_scores(observation, torch.where(observation.mask, 1.0, 0.0), 0)
    known = ~scores[:, 0].isnan()
    assert known.any()
    np.testing.assert_allclose(scores[known], 1.0, atol=1e-9)  # all is dropped, or all is kept


@pytest.mark.parametrize("mean", AMOUNTS)
def test_every_explanation_keeps_the_same_amount(mean):
    """Scaled and cut at 1, as found by bisection; tokens without importance are kept alike once all others are."""
    torch.manual_seed(0)
    ranked = torch.arange(8) < torch.tensor([8, 5, 3, 1]).unsqueeze(-1)
    importance = torch.rand(4, 8).double() ** 4
    importance[0, 2:] = 0
    found = _of_means(importance, ranked)[AMOUNTS.index(mean)]
    np.testing.assert_allclose((found * ranked).sum(dim=-1) / ranked.sum(dim=-1), mean, atol=1e-12)
    for row, count in enumerate([8, 5, 3, 1]):
        weights = importance[row, :count].numpy() + 1e-6 * importance[row].max().item()
        low, high = 0.0, 1e12
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if np.minimum(1, middle * weights).mean() < mean else (low, middle)
        np.testing.assert_allclose(found[row, :count], np.minimum(1, low * weights), rtol=1e-6)
    assert (found * ~ranked == 0).all()


def test_controlled_soft_scores_do_not_see_how_large_shares_are():
    """All tokens alike: published, everything is kept, or as much as the largest; controlled, as much as is said."""
    observation = observation_of(pooling_classifier(), [12] * 20)
    explanation, flat = observation.attention, observation.attention + observation.attention.amax()
    kept = [_of_means(each, observation.ranked).mean(dim=-1) for each in (explanation, flat)]
    torch.testing.assert_close(kept[0], kept[1])
    even, larger = (controlled_soft_scores(observation, torch.full_like(explanation, size), 0) for size in (0.1, 1.0))
    torch.testing.assert_close(even, larger, equal_nan=True)
    known = ~even.isnan().any(dim=-1)
    assert known.any()
    assert (even[known, 1] < soft_scores(observation, torch.ones_like(explanation), 0)[known, 1]).all()
    columns = erasure(observation, observation.ids, texts=20, sets=2)
    torch.testing.assert_close(columns["soft_even_sufficiency"], even[:, 1].double(), equal_nan=True)
    controlled = controlled_soft_scores(observation, explanation, 0).double()
    torch.testing.assert_close(columns["soft_controlled_comprehensiveness"], controlled[:, 0], equal_nan=True)


def test_parts_made_anew_from_the_top():
    observation = observation_of(pooling_classifier(), [12] * 20)
    before = {name: value.clone() for name, value in observation.network.state_dict().items()}
    taus = tau_randomised(observation, 0)
    assert list(taus) == ["decoder", "attention", "encoder"]
    assert (taus["decoder"] == 1).all(), "attention does not depend on the decoder"
    assert taus["encoder"].abs().mean() < 0.5
    assert all(torch.equal(before[name], value) for name, value in observation.network.state_dict().items())
    with torch.no_grad():
        for parameter in observation.network.encoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    texts = observation.ids, observation.tokens, observation.mask
    changed = tau_randomised(observe(observation.network, *texts), 0)
    afresh = tau_randomised(observe(deepcopy(observation.network), *texts), 0)
    assert all(torch.equal(changed[name], afresh[name]) for name in taus), "copies of an earlier state were used"
