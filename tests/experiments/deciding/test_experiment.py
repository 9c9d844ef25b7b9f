"""E19 on a network whose deciding word is known: what its columns say, and that nothing but the text counts."""

import torch

from attest.app.api.judging import stated_with
from attest.core.memory import budget_kept, set_memory_budget
from attest.experiments import observe
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools, what_decides
from attest.experiments.judges.judging import defendant
from attest.experiments.judges.texts import draw_texts

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
    wrong, _ = columns("sink_first", readings=["random"])
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
