"""What decides in the texts of networks: read as plain loops read them, and found where it was planted."""

import pytest
import torch

from attest.core.errors import AttestError
from attest.experiments import observe
from attest.experiments.deciding import Game, deciding_words, neutral_words, pointing, texts_of
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import PromptedNetwork
from tests.experiments.networks import observation_of, pooling_classifier
from tests.models.pretrained.planted import ANSWERS, BEFORE, TEMPLATE, WORDS, trained
from tests.models.pretrained.tiny import batch, tiny


def test_values_are_what_a_plain_loop_reads():
    """One neutral word in the pool, so that the fillings are known."""
    observation = observation_of(pooling_classifier(), [6, 2, 9, 3])
    game = Game(texts_of(observation), torch.tensor([7]), 0)
    rows, kept = torch.tensor([0, 2, 2, 1]), torch.zeros(4, 9, dtype=torch.bool)
    kept[0, 1], kept[1, [0, 4]], kept[3] = True, True, True
    for row, stays, value in zip(rows.tolist(), kept, game.value(rows, kept).tolist(), strict=True):
        length = int(observation.mask[row].sum())
        tokens = torch.where(stays[:length], observation.tokens[row, :length], 7)[None]
        alone = observe(observation.network, None, tokens, torch.ones_like(tokens, dtype=torch.bool))
        assert value == pytest.approx(alone.probabilities[0, observation.predicted[row]].item(), abs=1e-6)
    torch.testing.assert_close(game.texts.whole, observation.confidence.double())


def test_words_of_several_tokens_go_together_and_special_tokens_stay():
    tokens, mask = batch()
    words = torch.tensor([-1, 0, 0, 1, 2, 2, 2, 3, -1]).expand(3, -1).masked_fill(~mask, -1)
    network = PretrainedNetwork(tiny("bert"), 0)
    observation = observe(network, torch.arange(3), tokens, mask, words=words)
    texts, read = texts_of(observation), []
    seen = type(texts)(
        lambda rows, tokens: read.append(tokens) or texts.read(rows, tokens), texts.ids, texts.tokens, texts.words
    )
    game = Game(seen, torch.tensor([30]), 0)
    game.value(torch.tensor([1]), torch.tensor([[False, True, False, False]]), 1)
    (last,) = read[-1].tolist()
    own = tokens[1].tolist()
    assert last == [own[0], 30, 30, own[3], 30, 30, 30, 30, own[8]]


def test_token_types_beside_tokens_stay():
    model = tiny("bert", type_vocab_size=2)
    network = PretrainedNetwork(model, 0, typed=True)
    tokens, mask = batch()
    types = {"token_type_ids": (torch.arange(9) > 3) * mask.long()}
    texts = texts_of(observe(network, torch.arange(3), tokens * mask, mask, beside=types))
    assert torch.equal(texts.tokens, tokens * mask)
    found = texts.read(torch.tensor([1]), torch.full((1, 9), 30))
    with torch.no_grad():
        own = model(input_ids=torch.full((1, 9), 30), token_type_ids=(torch.arange(9) > 3).long()[None]).logits
    decided = texts.read(torch.tensor([1]), tokens[1:2])
    assert float(found) in [pytest.approx(each, abs=1e-5) for each in own.softmax(dim=-1)[0].tolist()]
    assert float(decided) == pytest.approx(float(texts.whole[1]), abs=1e-6)


@pytest.mark.whole("a training to its end")
def test_planted_words_of_a_prompted_decoder_are_found_and_readings_are_told_apart():
    made = trained()
    both = made.tokenizer.convert_tokens_to_ids([f"Ġ{answer.strip()}" for answer in ANSWERS.values()])
    ids = made.tokenizer([TEMPLATE.replace("{text}", text) for text in made.texts[:24]], return_tensors="pt")["input_ids"]
    special = torch.ones_like(ids, dtype=torch.bool)
    special[:, BEFORE : BEFORE + WORDS] = False
    mask = torch.ones_like(ids, dtype=torch.bool)
    observation = observe(PromptedNetwork(made.model, 0, both), torch.arange(24), ids, mask, special=special)
    texts = texts_of(observation)
    neutral, falls, rises = neutral_words(texts, observation.probabilities, 0)
    game = Game(texts, neutral.pool, 0)
    needs = game.way >= neutral.least_way
    assert needs.tolist() == [number % 2 == 0 for number in range(24)], "without the words it says bad of any text"
    best = deciding_words(game, [falls + rises, falls], needs)
    span = torch.zeros_like(best)
    for number in range(0, 24, 2):
        span[number, made.spans[number]] = True
    assert not (best & ~span).any()
    assert (best.sum(dim=1) == needs.long()).all(), "one never stands without the other, so that one is enough"
    other = texts.there & ~span
    other &= other.cumsum(dim=1) == 1
    assert pointing(game, best, best.double() + 0.5 * other, needs).right[needs].all()
    assert not pointing(game, best, other.double() + 0.5 * best, needs).right.any()


def test_what_cannot_be_filled_is_refused_in_a_sentence():
    observation = observation_of(pooling_classifier(), [3, 2])
    sentences = type(observation)(**{**vars(observation), "tokens": observation.tokens.unsqueeze(-1)} | {"cache": {}})
    with pytest.raises(AttestError, match="reads lists of sentences, and what decides is measured"):
        texts_of(sentences)
