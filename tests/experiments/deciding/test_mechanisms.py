"""On mechanisms in code, what is measured to decide decides, and explanations are right where the rule says so."""

import pytest
import torch

from attest.experiments.deciding import Game, deciding_words, neutral_words, pointing
from attest.experiments.deciding.filling import Texts
from attest.experiments.deciding.neutral import LEAST_WAY
from attest.experiments.deciding.pointing import TIE
from benchmarks.deciding.__main__ import texts_of
from benchmarks.deciding.mechanisms import BAD, FIRST_FILLER, GOOD, MECHANISMS, Case, Draw, count_of, everywhere, two

SEED = 3
SURE = [name for name in MECHANISMS if name not in ("dense", "very_dense", "length", "place")]
"""Mechanisms whose deciding words are clear in each text, and of which fillings carry none."""


@pytest.fixture(scope="module")
def asked():
    """Each mechanism with its game, the texts that need words, and a small set that decides."""
    known = {}

    def of(name):
        if name not in known:
            case = MECHANISMS[name](Draw(SEED, 24))
            texts, said = texts_of(case)
            neutral, falls, rises = neutral_words(texts, said, SEED)
            game = Game(texts, neutral.pool, SEED)
            needs = game.way >= neutral.least_way
            known[name] = case, game, needs, deciding_words(game, [falls + rises, falls], needs)
        return known[name]

    return of


@pytest.mark.parametrize("name", SURE)
def test_explanations_are_right_where_the_rule_says_so(asked, name):
    case, game, needs, best = asked(name)
    assert torch.equal(needs, case.needs)
    for explanation, (weights, truth) in case.readings.items():
        found = pointing(game, best, weights, needs).right
        assert torch.equal(found[needs], truth[needs]), explanation
        assert not found[~needs].any()


@pytest.mark.parametrize("name", ["token", "conjunction", "negated", "order", "several_classes", "unsure"])
def test_the_set_that_is_found_is_that_of_the_rule(asked, name):
    case, _, needs, best = asked(name)
    weights, _ = case.readings["all"]
    assert torch.equal(best[needs], weights[needs] > 0.2)


@pytest.mark.parametrize("name", MECHANISMS)
def test_words_of_the_rule_never_stand_in_fillings(asked, name):
    _, game, _, _ = asked(name)
    if name != "place":  # where every word is harmless at all places but one
        assert (game.pool >= FIRST_FILLER).all()


def test_words_are_told_under_the_same_fillings():
    """The most frequent words of a corpus decide: fillings differ by more than what a word does."""
    texts, said = texts_of(MECHANISMS["frequent"](Draw(0)))
    assert (neutral_words(texts, said, 0)[0].pool >= FIRST_FILLER).all()


def test_where_no_word_decides_no_text_needs_words(asked):
    _, game, needs, best = asked("length")
    assert not needs.any()
    assert not best.any()
    assert (game.way.abs() < LEAST_WAY).all()


def test_a_set_that_is_found_decides_and_no_word_of_it_can_go(asked):
    _, game, needs, best = asked("three_of_five")
    rows = needs.nonzero().squeeze(-1)
    assert game.decides(rows, best[rows])[0].all()
    at, words = best.nonzero(as_tuple=True)
    less = best[at] & ~torch.nn.functional.one_hot(words, best.shape[1]).bool()
    assert not game.decides(at, less)[0].any()


def test_the_weight_on_a_word_against_the_decision_is_told(asked):
    """Second, it may matter; first, or alone, it makes an explanation wrong."""
    case, game, needs, best = asked("against_first")
    found = {name: pointing(game, best, weights, needs) for name, (weights, _) in case.readings.items()}
    assert found["against second"].right.all()
    assert not found["against first"].right.any()
    assert found["against first"].matter.sum(dim=1).eq(2).all(), "the word against the decision matters, and is still wrong"


def test_equal_weights_are_read_together(asked):
    """Four words that each decide, with equal weight: whichever comes first, all four matter."""
    case, game, needs, best = asked("redundant")
    weights, _ = case.readings["all"]
    even = torch.where(weights > 0.1, 0.2, 0.0)
    found = pointing(game, best, even, needs)
    assert found.right.all()
    assert torch.equal(found.first, weights > 0.1)
    assert torch.equal(found.matter, weights > 0.1)
    apart = torch.where(weights > 0.1, weights * TIE ** torch.arange(weights.shape[1]), 0)
    assert pointing(game, best, apart, needs).first.sum(dim=1).eq(1).all()


def unread(game: Game) -> Game:
    """The same game, of which nothing has been read but whole texts and texts without words."""
    fresh = Game(game.texts, game.pool, game.seed)
    assert fresh.way.shape == game.way.shape
    return fresh


def test_a_text_whose_answer_is_sure_is_asked_no_more(asked):
    """The prefix of one word is read under 16 fillings. It is the smallest set, too, and nothing is left without it."""
    case, game, needs, best = asked("token")
    game = unread(game)
    before = game.passes
    found = pointing(game, best, case.readings["all"][0], needs)
    assert found.right.all()
    assert game.passes - before == 16 * len(needs)


def test_a_set_is_read_once(asked):
    _, game, needs, best = asked("conjunction")
    game, rows = unread(game), needs.nonzero().squeeze(-1)
    begun, sets = game.passes, best[rows]
    game.outcomes(rows, sets, 2)
    assert game.passes - begun == 2 * len(rows)
    few, again = game.outcomes(rows.repeat(2), sets.repeat(2, 1)).chunk(2)
    assert torch.equal(few, again)
    assert game.passes - begun == 4 * len(rows)
    every = torch.cat([few, game.outcomes(rows, sets, 12, after=4)], dim=1)
    assert torch.equal(game.outcomes(rows.flip(0), sets.flip(0), 16).flip(0), every)
    assert game.passes - begun == 16 * len(rows)
    torch.testing.assert_close(unread(game).outcomes(rows, sets, 16), every)


@pytest.mark.parametrize("name", ["token", "conjunction"])
def test_a_set_far_from_the_bound_is_read_twice_and_decided_alike(asked, name):
    _, game, needs, best = asked(name)
    rows = needs.nonzero().squeeze(-1).repeat_interleave(8)
    drawn = torch.rand(len(rows), best.shape[1], generator=torch.Generator().manual_seed(0)) < 0.5
    sets = torch.where(torch.arange(len(rows)).unsqueeze(1) % 2 == 0, drawn | best[rows], drawn & ~best[rows])
    one, other = unread(game), unread(game)
    begun = one.passes
    found, whole = one.decide(rows, sets), other.decides(rows, sets)[0]
    assert torch.equal(found, whole)
    assert found.any()
    assert not found.all()
    assert one.passes - begun <= other.passes - begun - 2 * int((~whole).sum()) // 2, "half of the others are far"


def test_a_set_that_begins_badly_may_decide_in_the_end():
    """One filling in four lowers a probability to 0.6: it is 0.9 in the mean, though both of the first two may be low."""
    tokens = torch.tensor([[1, 2]]).repeat(64, 1)

    def read(_rows, tokens):
        return (tokens[:, 0] == 1) * torch.where(tokens[:, 1] == 9, 0.6, 1.0)

    game = Game(Texts(read, torch.arange(64), tokens, torch.arange(2).expand(64, 2)), torch.tensor([9, 8, 8, 8]), 0)
    rows, first = torch.arange(64), torch.tensor([True, False]).expand(64, 2)
    found = game.decides(rows, first)[0]
    assert found[game.value(rows, first, 2) < 0.65].any()
    assert torch.equal(unread(game).decide(rows, first), found)


def six_together(against: float):
    """Six words decide together, and each is needed; two may speak against them. Returns game, set, places, all texts."""
    draw = Draw(0, 8)
    places = draw.places(8)
    draw.write(places, torch.tensor([GOOD] * 6 + [BAD] * 2))

    def logits(tokens, mask):
        return two(8.0 * (count_of(tokens, GOOD) >= 6) - 4 - against * count_of(tokens, BAD))

    texts, _ = texts_of(Case(logits, draw.tokens, draw.mask, everywhere(draw, True)))
    game = Game(texts, torch.tensor([FIRST_FILLER]), 0)
    return game, (draw.tokens == GOOD)[:, : texts.there.shape[1]], places, everywhere(draw, True)


def weights_at(places, *weights: float):
    return torch.full((8, 36), 1e-4).scatter(1, places, torch.tensor(weights).expand(8, -1))


def test_words_that_cannot_change_the_answer_are_not_asked():
    """Two words tie with the last of six that are all needed: three quarters matter, whatever the two do."""
    game, best, places, needs = six_together(against=0)
    assert (game.way > 0.9).all()  # v of nothing is read once
    spent = []
    for other in (0.001, 0.0099):
        game = unread(game)
        before = game.passes
        found = pointing(game, best, weights_at(places, 0.3, 0.2, 0.1, 0.06, 0.03, 0.01, other, other), needs)
        assert found.right.all()
        spent.append((game.passes - before, int(found.first.sum(dim=1).max())))
    assert spent == [(spent[0][0], 6), (spent[0][0], 8)]


def test_words_that_have_not_been_asked_count_as_if_they_spoke_against_the_decision():
    """The two words that speak against the decision have more weight than all others, and are asked late."""
    game, best, places, needs = six_together(against=1.7)
    assert not pointing(game, best, weights_at(places, 0.3, *[0.01] * 5, 0.29, 0.28), needs).right.any()
    assert pointing(game, best, weights_at(places, 0.3, *[0.01] * 5, 0.15, 0.14), needs).right.all()


def test_words_that_tie_in_great_number_must_each_say_something():
    """Two words decide. Each of six others matters, but only in the whole text: to mark all eight alike says nothing."""
    draw = Draw(0, 8)
    places = draw.places(8)
    draw.write(places, torch.tensor([GOOD] * 2 + [BAD] * 6))

    def logits(tokens, mask):
        others = count_of(tokens, BAD)
        both = torch.where(others == 0, 1.6, torch.where(others == 6, 4.6, 0.8))
        return two(torch.where(count_of(tokens, GOOD) == 2, both, -3.0))

    texts, _ = texts_of(Case(logits, draw.tokens, draw.mask, everywhere(draw, True)))
    game, needs = Game(texts, torch.tensor([FIRST_FILLER]), 0), everywhere(draw, True)
    best = (draw.tokens == GOOD)[:, : texts.there.shape[1]]
    found = pointing(game, best, weights_at(places, *[0.2] * 8)[:, : best.shape[1]], needs)
    assert found.first.sum(dim=1).eq(8).all()
    assert not found.right.any()


def test_weights_that_are_flat_point_at_nothing(asked):
    case, game, needs, best = asked("token")
    assert not pointing(game, best, case.mask.double(), needs).right.any()
    assert not pointing(game, best, torch.zeros_like(case.mask, dtype=torch.float64), needs).first.any()


def test_a_text_depends_on_no_other(asked):
    case, game, needs, best = asked("conjunction")
    texts, _ = texts_of(case)
    row = int(needs.nonzero()[2])
    part = type(texts)(
        lambda rows, tokens: texts.read(rows + row, tokens), texts.ids[[row]], texts.tokens[[row]], texts.words[[row]]
    )
    alone = Game(part, game.pool[[row]], SEED)
    size = part.there.shape[1]
    for name, (weights, _) in case.readings.items():
        found = pointing(game, best, weights, needs)
        single = pointing(alone, best[[row], :size], weights[[row], :size], needs[[row]])
        assert torch.equal(found.first[row, :size], single.first[0]), name
        assert found.right[row] == single.right[0]
    torch.testing.assert_close(alone.nothing[0], game.nothing[row])
