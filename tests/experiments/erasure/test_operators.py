"""Each operator against the plain thing that it stands for, one text at a time."""

import numpy as np
import pytest
import torch

from attest.core.attention import Sparsemax
from attest.core.memory import budget_kept, set_memory_budget
from attest.experiments import observe
from attest.experiments.erasure.operators import Background, attention, delete, mask_tokens, operators, resample
from attest.experiments.erasure.outcomes import outcomes_of, random_ranks, sizes
from attest.models.networks.transformer import TransformerClassifier
from tests.experiments.networks import DeepDecoder, FourSteps, Given, Sentences, observation_of, pooling_classifier

LENGTHS = [6, 2, 9, 3]


def transformer():
    torch.manual_seed(0)
    return TransformerClassifier(50, 1, 16, 2, 2, 16).double().eval()


def some_kept(observation, variants=4):
    torch.manual_seed(1)
    kept = (torch.rand(len(observation.ids), variants, observation.mask.shape[-1]) < 0.5) & observation.mask.unsqueeze(1)
    kept[..., 0] = True
    return kept


def predicted(observation, row, tokens, mask=None):
    mask = torch.ones(1, tokens.shape[0], dtype=torch.bool) if mask is None else mask
    outcome = observe(observation.network, None, tokens[None], mask).probabilities[0]
    return outcome[observation.predicted[row]].item()


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
def test_deletion_is_the_shortened_text(wrap, outputs):
    observation = observation_of(wrap(pooling_classifier(outputs)), LENGTHS)
    kept = some_kept(observation)
    found = delete(observation, kept)
    for row in range(len(LENGTHS)):
        for variant in range(4):
            expected = predicted(observation, row, observation.tokens[row][kept[row, variant]])
            np.testing.assert_allclose(found[row, variant], expected, atol=1e-9)


def test_the_unknown_token_stands_where_a_token_stood():
    observation = observation_of(pooling_classifier(), LENGTHS)
    kept = some_kept(observation)
    found = mask_tokens(observation, kept)
    for row, length in enumerate(LENGTHS):
        tokens = torch.where(kept[row, 2], observation.tokens[row], 1)[:length]
        np.testing.assert_allclose(found[row, 2], predicted(observation, row, tokens), atol=1e-9)


def test_attention_leaves_hidden_states_and_renormalises():
    network = Given([0.5, 0.3, 0.2], [1.0, -2.0, 3.0])
    observation = network.observed()
    kept = torch.tensor([[[True, False, True], [False, True, False], [False, False, False]]])
    expected = torch.tensor([(0.5 * 1 + 0.2 * 3) / 0.7, -2.0, 0.0]).double().sigmoid()
    np.testing.assert_allclose(attention(observation, kept)[0], expected, atol=1e-12)


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
@pytest.mark.parametrize("outputs", [1, 3])
def test_cumulative_sums_are_the_same_as_decoding_every_set(wrap, outputs):
    observation = observation_of(wrap(pooling_classifier(outputs, Sparsemax())), LENGTHS * 3)
    linear = observation_of(pooling_classifier(outputs, Sparsemax()), LENGTHS * 3)
    ranks, counts = random_ranks(observation.ids, observation.mask, 7, 0), sizes(observation.lengths)
    if wrap is not DeepDecoder:
        long_way = outcomes_of(observation_of(FourSteps(linear.network), LENGTHS * 3), ranks, counts, attention)
        np.testing.assert_allclose(outcomes_of(observation, ranks, counts, attention), long_way, atol=1e-9)
    bare = (observation.attention.unsqueeze(1) * (ranks >= 2)).sum(dim=-1) == 0
    assert bare.any(), "no set was left without attention, so the bias was never asked"


def test_inside_layers_nothing_attends_to_an_erased_token():
    observation = observation_of(transformer(), LENGTHS)
    kept = some_kept(observation)
    found = attention(observation, kept)
    changed = observation.tokens.clone()
    changed[~kept[:, 0]] = 3  # whatever stands at an erased place makes no difference
    again = attention(observe(observation.network, observation.ids, changed * observation.mask, observation.mask), kept)
    same = observe(observation.network, None, changed * observation.mask, observation.mask).predicted == observation.predicted
    np.testing.assert_allclose(found[same, 0], again[same, 0], atol=1e-9)
    assert (found[:, 0] - delete(observation, kept)[:, 0]).abs().max() > 1e-3, "places are kept, not closed up"


def test_of_nothing_the_bias_alone_decides():
    observation = observation_of(pooling_classifier(), LENGTHS)
    nothing = torch.zeros(len(LENGTHS), 1, observation.mask.shape[-1], dtype=torch.bool)
    positive = torch.sigmoid(observation.network.decoder.bias.detach())[0]
    expected = torch.where(observation.predicted == 1, positive, 1 - positive)
    for operator in (attention, delete):
        np.testing.assert_allclose(operator(observation, nothing)[:, 0], expected, atol=1e-9)


def test_resampling_draws_from_the_same_relative_position():
    observation = observation_of(pooling_classifier(), [6, 6])
    halves = Background(torch.tensor([5, 5, 5, 9, 9, 9]), torch.tensor([0]), torch.tensor([6]))
    drawn = halves.drawn(0, observation.ids, observation.lengths, 50, 6)
    assert (drawn[..., :3] == 5).all()
    assert (drawn[..., 3:] == 9).all()
    kept = some_kept(observation, 1)
    tokens = torch.where(kept[0, 0], observation.tokens[0], torch.tensor([5, 5, 5, 9, 9, 9]))
    np.testing.assert_allclose(resample(observation, kept, halves)[0, 0], predicted(observation, 0, tokens), atol=1e-9)
    mixed = Background(torch.arange(2, 50), torch.arange(0, 48, 6), torch.full((8,), 6))
    draws = mixed.drawn(3, observation.ids, observation.lengths, 4, 6)
    each = [torch.where(kept[0, 0], observation.tokens[0], draws[0, draw]) for draw in range(4)]
    for draw, tokens in enumerate(each):
        np.testing.assert_allclose(
            resample(observation, kept, mixed, 3, draw)[0, 0], predicted(observation, 0, tokens), atol=1e-9
        )


def test_a_long_text_is_drawn_from_throughout_the_span_of_a_token():
    one, ids = Background(torch.arange(10), torch.tensor([0]), torch.tensor([10])), torch.arange(40)
    drawn = one.drawn(0, ids, torch.full((40,), 2), 30, 2)
    assert drawn[..., 0].unique().tolist() == [0, 1, 2, 3, 4]
    assert drawn[..., 1].unique().tolist() == [5, 6, 7, 8, 9]


def test_of_sentences_each_word_is_unknown():
    torch.manual_seed(0)
    tokens, mask = torch.randint(2, 50, (2, 4, 5)), torch.ones(2, 4, dtype=torch.bool)
    observation = observe(Sentences(), None, tokens, mask)
    kept = torch.tensor([[[True, False, True, True]], [[True, True, False, False]]])
    masked = torch.where(kept[:, 0].unsqueeze(-1), tokens, 1)
    expected = observe(Sentences(), None, masked, mask).probabilities.gather(-1, observation.predicted.unsqueeze(-1))
    np.testing.assert_allclose(mask_tokens(observation, kept), expected, atol=1e-6)
    shortened = observe(Sentences(), None, tokens[1:, :2], mask[1:, :2]).probabilities[0, observation.predicted[1]]
    np.testing.assert_allclose(delete(observation, kept)[1, 0], shortened, atol=1e-6)


def test_a_small_budget_changes_nothing():
    observation = observation_of(pooling_classifier(), LENGTHS)
    kept, background = some_kept(observation), Background(torch.arange(2, 50), torch.arange(0, 48, 6), torch.full((8,), 6))
    for operator, *_ in operators(background).values():
        expected = operator(observation, kept)
        with budget_kept():
            set_memory_budget(1e-6)
            np.testing.assert_allclose(operator(observation, kept), expected, atol=1e-9)
