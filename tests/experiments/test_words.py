"""Words of texts in subwords, against loops over words; and special tokens with and without."""

import pytest
import torch

from attest.core.measures import kendall_tau_b, probabilities
from attest.experiments import feature_importance, words
from attest.experiments.readings import side_by_side
from attest.experiments.words import first_of_words, leave_words_out, over_words
from attest.models.observation import observe
from tests.experiments.networks import observation_of, pooling_classifier

WORDS = torch.tensor([[-1, 0, 0, 0, 1, 2, 2, -1], [-1, 0, 1, 1, -1, -1, -1, -1], [-1, 0, 0, -1, -1, -1, -1, -1]])
LENGTHS = [8, 5, 4]


@pytest.fixture(scope="module")
def observation():
    plain = observation_of(pooling_classifier(), LENGTHS)
    return observe(plain.network, plain.ids, plain.tokens, plain.mask, words=WORDS)


def test_numbers_of_subwords_are_added_up_at_the_first():
    values = torch.arange(24.0).view(3, 8)
    lifted = over_words(values, WORDS)
    assert first_of_words(WORDS).nonzero().tolist() == [[0, 1], [0, 4], [0, 5], [1, 1], [1, 2], [2, 1]]
    for text in range(3):
        for word in range(int(WORDS[text].max()) + 1):
            of_word = WORDS[text] == word
            assert lifted[text, of_word.nonzero()[0]] == values[text, of_word].sum()
    assert lifted[~first_of_words(WORDS)].eq(0).all()


@torch.no_grad()
def test_a_word_is_left_out_with_all_its_subwords(observation):
    found = leave_words_out(observation)
    network = observation.network
    for text, place in first_of_words(WORDS).nonzero().tolist():
        rest = observation.mask[text] & (WORDS[text] != WORDS[text, place])
        tokens = observation.tokens[text][rest].unsqueeze(0)
        mask = torch.ones_like(tokens, dtype=torch.bool)
        moved = probabilities(network(tokens, mask))[0] - observation.probabilities[text]
        assert found[text, place] == pytest.approx(float(moved.abs().sum() / 2), abs=1e-6)
    assert found[~first_of_words(WORDS)].eq(0).all()


def test_a_word_of_one_subword_is_not_read_twice(observation, monkeypatch):
    reading, texts = words.read_each, []
    monkeypatch.setattr(words, "read_each", lambda *given: texts.extend(given[1]) or reading(*given))
    leave_words_out(observation)
    assert len(texts) == 4


def test_a_text_of_one_word_without_special_tokens_has_no_number():
    plain = observation_of(pooling_classifier(), [3, 2])
    alone = observe(plain.network, plain.ids, plain.tokens, plain.mask, words=torch.tensor([[0, 0, 0], [0, 1, -1]]))
    found = leave_words_out(alone)
    assert found[0, 0].isnan()
    assert found[1, :2].isfinite().all()


def test_attention_is_compared_word_by_word_and_never_with_special_tokens(observation):
    columns = feature_importance(observation)
    attention = observation.attention
    inner = WORDS >= 0
    for name in ("gradient_inputs", "leave_one_out_inputs"):
        lifted = columns["leave_one_out_words"] if name.startswith("leave") else over_words(columns[name], WORDS)
        of_words = kendall_tau_b(over_words(attention, WORDS), lifted, first_of_words(WORDS))
        torch.testing.assert_close(columns[f"tau_words_{name}"], of_words.tau, equal_nan=True)
        of_inner = kendall_tau_b(attention, columns[name], inner)
        torch.testing.assert_close(columns[f"tau_{name}"], of_inner.tau, equal_nan=True)
    assert not torch.equal(columns["tau_words_gradient_inputs"][0], columns["tau_gradient_inputs"][0])


def test_texts_in_words_have_no_such_columns():
    columns = feature_importance(observation_of(pooling_classifier(), LENGTHS))
    assert not [name for name in columns if "words" in name or "special" in name]


def test_readings_agree_word_by_word_as_well(observation):
    columns = side_by_side(observation, observation.ids, sets=2)
    pairs = [name for name in columns if name.startswith("tau_words_")]
    assert "tau_words_attention_and_gradient_input" in pairs
    assert {name.replace("words_", "") for name in pairs} <= columns.keys()
