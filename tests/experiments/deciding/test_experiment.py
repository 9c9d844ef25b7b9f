"""E19 on a network whose deciding word is known: what its columns say, and that nothing but the text counts."""

import torch

from attest.core.memory import budget_kept, set_memory_budget
from attest.experiments import observe
from attest.experiments.deciding import Game, Neutral, Texts
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools, what_decides
from attest.experiments.deciding.neutral import first_tokens, kinds_of_words, sink_of
from attest.judges.judging import defendant
from attest.judges.metric import stated_with
from attest.judges.texts import draw_texts

TEXTS = 24
STATED = stated_with({})


def observed(name):
    texts = draw_texts("token", TEXTS, 3)
    network = defendant(STATED, name, "token")
    return observe(network, texts.ids, texts.tokens, texts.mask, texts.labels), texts


def columns(name, **options):
    observation, texts = observed(name)
    return what_decides(observation, texts.ids, neutral=options.pop("neutral", None), **options), texts


def test_right_attention_points_at_the_word_of_the_rule_and_a_sink_does_not():
    right, texts = columns("honest", readings=["random"])
    assert (right["needs_words"] == 1).all()
    assert (right["words"] == 1).all()
    assert torch.equal(right["decides"].bool(), texts.deciding)
    assert (right["right"] == 1).all()
    assert right["right_random"].mean() < 0.3
    assert (right["with_words"] > right["without_words"]).all()
    assert (right["with_first"] == right["with_words"]).double().mean() > 0.9, "of one word, the same"
    assert torch.equal(right["first"].bool(), texts.deciding)
    assert torch.equal(right["matter"], right["first"])
    wrong, _ = columns("sink_first", readings=["random"])
    assert (wrong["first"][:, 0] == 1).all(), "the sink, and behind it the word of the rule: together they decide"
    assert torch.equal(wrong["matter"].bool(), texts.deciding)
    assert (wrong["with_first"] > 0.8).all()
    assert torch.equal(wrong["decides"], right["decides"]), "what decides is no question of attention"
    assert (wrong["right"] == 0).all()


def test_texts_outside_the_sample_are_not_measured():
    found, _ = columns("honest", texts=10, readings=["random"])
    assert int(found["right"].isfinite().sum()) == 10
    assert int((found["decides"].sum(dim=1) > 0).sum()) == 10


def test_a_reading_that_is_undefined_on_a_text_is_not_called_wrong():
    """Leave-one-out leaves out texts that are too long."""
    with budget_kept():
        set_memory_budget(1.0, 28)
        found, texts = columns("honest", readings=["leave-one-out"])
    long = texts.mask.sum(dim=1) > 28
    assert long.any()
    assert torch.equal(found["right_leave_one_out"].isnan(), long)
    assert found["right"].isfinite().all()


def test_each_text_has_one_of_two_pools():
    observation, _ = observed("honest")
    first = neutral_in(observation.part(torch.arange(0, TEXTS, 2)), 0)
    second = first._replace(least_way=2.0)  # with which no text needs words
    found, _ = columns("honest", neutral=(first, second), readings=["random"])
    assert {*found["pool"].tolist()} == {0.0, 1.0}
    assert torch.equal(found["needs_words"] == 1, found["pool"] == 0)


def test_fillings_of_a_text_come_from_its_own_pool():
    """Of two pools, one holds a single word, which says class 1: texts of this class need no words there."""
    observation, texts = observed("honest")
    says_one = texts.tokens[texts.deciding][observation.predicted == 1][:1]
    harmless = neutral_in(observation, 0)
    found, _ = columns("honest", neutral=(harmless, harmless._replace(pool=says_one)), readings=["random"])
    assert torch.equal(found["needs_words"] == 0, (found["pool"] == 1) & (observation.predicted == 1))


def test_pools_come_from_different_texts():
    ids = torch.arange(500)
    first, second = texts_for_pools(ids, 0)
    assert len(first) == len(second) == 16
    assert not {*first.tolist()} & {*second.tolist()}
    alone = texts_for_pools(ids[:1], 0)
    assert [each.tolist() for each in alone] == [[0], [0]]


def test_a_token_that_attention_puts_first_and_that_moves_nothing_is_set_aside():
    """Most texts of this network have a filler with nine tenths of the weight; the rest is on the word of the rule."""
    observation, texts = observed("sink_word")
    pools = (neutral_in(observation, 0),) * 2
    sink = sink_of(pools)
    of_sink = (observation.tokens == sink) & observation.mask
    has = of_sink.any(dim=1)
    assert 0 < int(has.sum()) < TEXTS
    found = what_decides(observation, texts.ids, neutral=pools, readings=["random"])
    assert (found["right"] == 0).all()
    assert torch.equal(found["right_without_sink"] == 1, has), "in other texts it puts another filler first"
    without = observation.explained_by(observation.explanation.masked_fill(of_sink, 0))
    assert torch.equal(what_decides(without, texts.ids, neutral=pools, readings=[])["right"], found["right_without_sink"])
    assert torch.equal(found["sink"].isnan(), ~has)
    assert torch.equal(found["sink"][has], of_sink[has].int().argmax(dim=1).double())


def test_a_word_that_decides_is_no_sink_however_often_it_comes_first():
    """Of the two words of the rule, one is first in more than half of the texts."""
    observation, texts = observed("honest")
    first = observation.tokens.gather(1, observation.explanation.argmax(dim=1, keepdim=True))
    assert int(first.flatten().bincount().max()) > TEXTS / 2
    pools = (neutral_in(observation, 0),) * 2
    assert sink_of(pools) is None
    assert not {"sink", "right_without_sink"} & {*what_decides(observation, texts.ids, neutral=pools, readings=[])}


def pool_of(*firsts):
    return Neutral(torch.tensor([5]), 0.1, torch.tensor(firsts))


def test_one_sink_is_decided_on_from_the_texts_of_both_pools():
    several = pool_of(7, 7, 7, 7, 7, 7, 3, -1)
    assert sink_of((several, pool_of(7, 7, 3, 3, 3, 3, 3, -1))) == 7, "in 8 of 16"
    assert sink_of((several, pool_of(7, 3, 3, 3, 3, 3, 4, -1))) is None, "in 7 of 16"
    assert sink_of((pool_of(7, 7), pool_of(7, 7))) is None, "of four texts"
    assert sink_of((Neutral(torch.tensor([5]), 0.1),) * 2) is None


def test_words_of_several_tokens_are_no_sinks_and_an_undefined_explanation_names_none():
    tokens = torch.tensor([[2, 5, 5, 6, 7]] * 4)
    words = torch.tensor([[-1, 0, 0, 1, 1]] * 4)
    texts = Texts(lambda rows, tokens: torch.zeros(len(rows)), torch.arange(4), tokens, words)
    assert kinds_of_words(texts).tolist() == [[5, -1]] * 4
    weights = torch.tensor([[2.0, 1.0], [1.0, 2.0], [0.0, 0.0], [2.0, torch.nan]])
    game = Game(texts, tokens, 0)
    assert first_tokens(game, weights, torch.zeros(4, 2), 0.1).tolist() == [5, -1, -1, -1]
    assert first_tokens(game, weights, torch.full((4, 2), 0.1), 0.1).tolist() == [-1] * 4


def test_pools_of_older_files_know_no_sink():
    assert Neutral.of_plain({"pool": [3, 4], "least_way": 0.2}).firsts is None
    again = Neutral.of_plain(pool_of(7, -1).plain())
    assert (again.pool.tolist(), again.least_way, again.firsts.tolist()) == ([5], 0.1, [7, -1])
