"""Attention over a passage that knows the question: against Jain & Wallace's formulas, one text at a time."""

import pytest
import torch

from attest.core.attention import AdditiveScoring, DotScoring, PooledAttention
from attest.core.attention.pooled import pool
from attest.models.networks import BiLSTM, ConditionedClassifier
from attest.models.networks.conditioned import candidates_of, questions_of

PASSAGES = [[5, 6, 7, 8], [9, 4], [3]]
QUESTIONS = [[11, 12], [13, 14, 15], [16]]
TOKENS = torch.tensor([[5, 6, 7, 8, 0, 11, 12], [9, 4, 0, 0, 13, 14, 15], [3, 0, 0, 0, 0, 0, 16]])
MASK = torch.arange(7) < torch.tensor([[4], [2], [1]])


def made(scoring=AdditiveScoring):
    network = ConditionedClassifier(20, 3, lambda words: BiLSTM(words, 6, 4), scoring)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return network.double().eval()


def last_states(encoder, text):
    """Torch's own LSTMs over one text between its boundaries: the last state of each."""
    start, end = encoder.boundaries
    wrapped = torch.cat([start[None], encoder.embedding(torch.tensor(text)), end[None]])
    (_, (onward, _)), (_, (backward, _)) = encoder.forward_lstm(wrapped[None]), encoder.backward_lstm(wrapped.flip(0)[None])
    return torch.cat([onward[0, 0], backward[0, 0]])


def additive(attention, hidden, question):
    scoring = attention.scoring
    of_hidden = hidden @ scoring.projection.weight.T + scoring.projection.bias
    of_question = scoring.query.weight @ question + scoring.query.bias
    return torch.tanh(of_hidden + of_question) @ scoring.alignment.weight[0]


def dot(attention, hidden, question):
    return hidden @ question / 8**0.5


@pytest.mark.parametrize(("scoring", "formula"), [(AdditiveScoring, additive), (DotScoring, dot)])
def test_a_row_says_what_the_formulas_say_of_its_passage_and_question(scoring, formula):
    network = made(scoring)
    weights = network.project(network.score(network.encode(TOKENS, MASK), MASK), MASK)
    logits = network(TOKENS, MASK)
    for row, (passage, question) in enumerate(zip(PASSAGES, QUESTIONS, strict=True)):
        alone = torch.tensor([passage])
        hidden = network.encoder(alone, torch.ones_like(alone, dtype=torch.bool))[0]
        asked = last_states(network.question_encoder, question)
        expected = formula(network.attention, hidden, asked).softmax(dim=-1)
        torch.testing.assert_close(weights[row, : len(passage)], expected, atol=1e-12, rtol=0)
        assert (weights[row, len(passage) :] == 0).all()
        beside = network.of_passage(expected @ hidden) + network.of_question(asked)
        torch.testing.assert_close(logits[row], network.decoder(torch.tanh(beside)), atol=1e-12, rtol=0)


def test_another_question_is_attended_to_otherwise():
    network, other = made(), TOKENS.clone()
    other[:, -1] = 17
    weights = [network.project(network.score(network.encode(rows, MASK), MASK), MASK) for rows in (TOKENS, other)]
    assert (weights[0] - weights[1]).abs().amax(dim=-1)[:2].min() > 1e-3


def test_questions_come_out_as_they_were_written():
    tokens, mask = questions_of(TOKENS, MASK)
    assert [row[real].tolist() for row, real in zip(tokens, mask, strict=True)] == QUESTIONS


def test_texts_without_questions_are_refused(refusal):
    with refusal():
        made()(TOKENS[:1, :4], MASK[:1, :4])


def test_candidates_come_out_as_they_were_written():
    tokens = torch.tensor([[5, 6, 0, 22, 20, 11], [9, 0, 0, 0, 21, 12]])
    assert candidates_of(tokens, 20, 3).tolist() == [[True, False, True], [False, True, False]]


def test_rows_without_candidates_or_without_room_are_refused(refusal):
    with refusal():
        ConditionedClassifier(20, 3, lambda words: BiLSTM(words, 6, 4), among_candidates=True)(TOKENS, MASK)
    with refusal():
        ConditionedClassifier(20, 1, lambda words: BiLSTM(words, 6, 4), among_candidates=True)
    narrow, real = torch.tensor([[5, 6, 21, 11]]), torch.tensor([[True, True, False, False]])
    with refusal():
        ConditionedClassifier(20, 17, lambda words: BiLSTM(words, 6, 3), among_candidates=True)(narrow, real)


@pytest.mark.parametrize("scoring", [AdditiveScoring, DotScoring])
def test_a_score_may_know_a_question(scoring):
    attention = PooledAttention(8, scoring)
    attention.scoring.take_queries()
    hidden, asked = torch.randn(2, 5, 8), torch.randn(2, 8)
    assert pool(hidden, attention.score(hidden, torch.ones(2, 5, dtype=torch.bool), asked)).shape == (2, 8)
