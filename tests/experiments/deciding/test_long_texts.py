"""Texts of more words than can be read one by one: the same words decide, and fewer texts are read."""

import pytest
import torch

from attest.experiments.deciding import Game, deciding_words, neutral_words, pointing
from attest.experiments.deciding.neutral import FEW_WORDS, UNDECIDED
from attest.experiments.deciding.search import LONG
from benchmarks.deciding.__main__ import texts_of
from benchmarks.deciding.mechanisms import BAD, FIRST_FILLER, GOOD, MECHANISMS, Case, Draw, count_of, everywhere, two


def drawn(words):
    return Draw(1, 8, (words - 8, words))


@pytest.mark.parametrize("name", ["conjunction", "negated", "order", "bigram", "majority"])
def test_the_words_of_the_rule_are_found_without_reading_each_word(name):
    case = MECHANISMS[name](drawn(200))
    texts, said = texts_of(case)
    neutral, falls, rises = neutral_words(texts, said, 0)
    game = Game(texts, neutral.pool, 0)
    needs = game.way >= neutral.least_way
    assert torch.equal(needs, case.needs)
    best = deciding_words(game, [falls + rises, falls], needs)
    rows = needs.nonzero().squeeze(-1)
    assert game.passes < 250 * len(texts.ids), "fewer than two for each word"
    assert game.decides(rows, best[rows])[0].all()
    assert not (best & (texts.tokens >= FIRST_FILLER)).any()
    for explanation, (weights, truth) in case.readings.items():
        found = pointing(game, best, weights, needs).right
        assert torch.equal(found[needs], truth[needs]), explanation


def test_a_few_words_of_a_long_text_are_measured_and_all_of_a_short_one():
    draw = drawn(200)
    draw.mask[0] = torch.arange(200) < LONG
    texts, said = texts_of(MECHANISMS["token"](draw))
    _, falls, rises = neutral_words(texts, said, 0)
    assert torch.equal(falls.isnan(), rises.isnan())
    known = (~falls.isnan() & texts.there).sum(dim=1)
    assert known.tolist() == [LONG, *[FEW_WORDS] * 7]
    part = type(texts)(
        lambda rows, tokens: texts.read(rows + 3, tokens), *(each[3:] for each in (texts.ids, texts.tokens, texts.words))
    )
    other = neutral_words(part, said[3:], 0)[1]
    assert torch.equal(other.isnan(), falls[3:, : other.shape[1]].isnan()), "which words are measured hangs on no other text"


@pytest.mark.parametrize(("words", "right"), [(LONG - 10, True), (LONG + 40, False)])
def test_in_long_texts_a_word_matters_that_moves_half_an_even_share(words, right):
    """Four of six words decide. Two words against them move the model by a seventh of the way, and have more weight."""
    draw = drawn(words)
    places = draw.places(8)
    draw.write(places, torch.tensor([GOOD] * 6 + [BAD] * 2))
    weights = torch.full(draw.mask.shape, 1e-4).scatter(1, places, torch.tensor([0.3, *[0.01] * 5, 0.29, 0.28]).expand(8, -1))

    def logits(tokens, mask):
        return two((0.05 + 0.15 * count_of(tokens, GOOD) - 0.1 * count_of(tokens, BAD)).clamp(1e-6, 1 - 1e-6).logit())

    texts, _ = texts_of(Case(logits, draw.tokens, draw.mask, everywhere(draw, True)))
    game, needs = Game(texts, torch.tensor([FIRST_FILLER]), 0), everywhere(draw, True)
    scores = ((draw.tokens == GOOD) * 1.0)[:, : texts.there.shape[1]]
    best = deciding_words(game, [scores], needs)
    assert best.sum(dim=1).eq(4).all()
    assert pointing(game, best, weights * draw.mask, needs).right.eq(right).all()


def test_the_shortest_prefix_of_a_long_text_lies_between_the_sizes_that_are_tried_first():
    """Five words decide together; prefixes of 4 and of 6 words are tried."""
    draw = drawn(100)
    chosen = draw.write(draw.places(5), GOOD)
    texts, _ = texts_of(
        Case(lambda tokens, mask: two(12.0 * (count_of(tokens, GOOD) >= 5) - 6), draw.tokens, draw.mask, chosen)
    )
    game, needs = Game(texts, torch.tensor([FIRST_FILLER]), 0), everywhere(draw, True)
    weights = (chosen + 0.01 * draw.mask) * 0.8 ** torch.arange(draw.mask.shape[1]) ** 0.5
    best = deciding_words(game, [weights], needs)
    assert torch.equal(best, chosen[:, : best.shape[1]])
    found = pointing(game, best, weights, needs)
    assert found.right.all()
    assert torch.equal(found.first, best)


SAYS = torch.tensor([0.02, 0.02, 0.02, 0.02, -0.05, -0.05, 0.12, 0.12, -0.11, -0.11])
"""What each of ten fillers says of the second class, in log-odds. Those that say least speak for it: 200 of them by 4."""


def leaning(words, bias):
    """One word decides; fillers lean, or else the model does."""
    draw = Draw(1, 16, (words - 8, words))
    fillers = torch.randint(FIRST_FILLER, FIRST_FILLER + 50, draw.mask.shape, generator=draw.generator)
    draw.tokens = torch.where(draw.mask, fillers, 0)
    chosen = draw.write(draw.places(1), torch.where(torch.arange(16) % 2 == 0, GOOD, BAD)[:, None])

    def logits(tokens, mask):
        said = (SAYS[tokens % 10] * (tokens >= FIRST_FILLER) * mask).sum(dim=1) * (bias == 0)
        return two(said + bias + 4.0 * (count_of(tokens, GOOD) - count_of(tokens, BAD)))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), {"all": (chosen * 1.0, everywhere(draw, True))})


def lean(texts, said, pool):
    game, second = Game(texts, pool, 0), said.argmax(dim=1) == 1
    return torch.where(second, game.nothing, 1 - game.nothing).logit().mean()


def test_neutral_words_that_lean_together_are_exchanged_for_such_that_leave_the_model_undecided():
    texts, said = texts_of(leaning(200, 0.0))
    fillers = torch.arange(FIRST_FILLER, FIRST_FILLER + 50)
    assert lean(texts, said, fillers[fillers % 10 < 4]) > 2, "those that move the model least"
    pool = neutral_words(texts, said, 0)[0].pool
    assert lean(texts, said, pool).abs() < UNDECIDED
    assert (pool >= FIRST_FILLER).all(), "a word that decides is not neutral"


@pytest.mark.parametrize("words", [LONG - 10, 200])
def test_a_default_class_of_the_model_is_left_to_it(words, monkeypatch):
    texts, said = texts_of(leaning(words, 3.0))
    pool = neutral_words(texts, said, 0)[0].pool
    monkeypatch.setattr("attest.experiments.deciding.neutral.MOST_NEEDLESS", 2.0)
    assert torch.equal(pool, neutral_words(texts, said, 0)[0].pool), "no other words would leave the model undecided"
