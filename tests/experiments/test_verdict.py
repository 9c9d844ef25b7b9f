"""The verdict on a model, from rows of E19 made by hand."""

import numpy as np
import pandas as pd
import pytest

from attest.experiments.verdict import (
    AT_THE_END,
    CANNOT_TELL,
    IN_PART,
    LOOKS,
    NO,
    NOT_LEARNED,
    WHILE_READING,
    YES,
    Share,
    Verdict,
    answer_of,
    is_decided,
    judged,
    looks_of,
    readings_in,
    share_of,
)


def rows(right: int, wrong: int, needless: int = 0, **others: object) -> pd.DataFrame:
    """Texts with right and wrong attention, and texts that need no words; half of each with either pool."""
    values = [1.0] * right + [0.0] * wrong + [np.nan] * needless
    needs = [1.0] * (right + wrong) + [0.0] * needless
    known = {"id": range(len(values)), "needs_words": needs, "right": values, "pool": [0.0, 1.0] * (len(values) // 2 + 1)}
    known["pool"] = known["pool"][: len(values)]
    return pd.DataFrame(known | {"with_words": 0.9, "without_words": 0.5, "right_random": 0.0} | others)


def verdict(*given: int, learned: bool | None = True, **others: object) -> Verdict:
    found = judged(rows(*given, **others), learned)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("right", "wrong", "answer"),
    [
        (40, 0, YES), (78, 2, YES), (144, 16, YES),
        (0, 20, NO), (4, 36, NO), (60, 100, NO), (30, 10, IN_PART), (112, 48, IN_PART),
        (20, 0, YES), (72, 8, YES), (18, 2, CANNOT_TELL), (9, 11, CANNOT_TELL), (0, 19, CANNOT_TELL), (11, 9, CANNOT_TELL),
    ],
)  # fmt: skip
def test_a_share_of_texts_becomes_an_answer(right: int, wrong: int, answer: str) -> None:
    assert verdict(right, wrong).answer == answer


def test_the_interval_is_that_of_clopper_and_pearson_over_four_looks() -> None:
    from scipy.stats import binomtest

    found = verdict(30, 50).share
    expected = binomtest(30, 80).proportion_ci(1 - 0.05 / 4, "exact")
    assert found == Share(0.375, pytest.approx(expected.low), pytest.approx(expected.high), 80)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.3, 0.7, 0.75, 0.96, 1.0])
def test_an_answer_is_wrong_in_few_of_many_models(share: float) -> None:
    """At four looks, each of which may end the reading."""
    generator, wrong, models = np.random.default_rng(0), 0, 400
    right = YES if share >= 0.9 else NO if share < 0.5 else IN_PART
    known: dict[tuple[int, int], str] = {}
    for _ in range(models):
        drawn = generator.random(LOOKS[-1]) < share
        for look in LOOKS:
            hits = int(drawn[:look].sum())
            if (look, hits) not in known:
                values = pd.Series(np.repeat([1.0, 0.0], [hits, look - hits]))
                within = AT_THE_END if look == LOOKS[-1] else WHILE_READING
                known[look, hits] = answer_of(share_of(values) or Share(0, 0, 1, 0), within)
            if known[look, hits] != CANNOT_TELL:
                wrong += known[look, hits] != right
                break
    assert wrong <= 0.05 * models


def test_texts_that_need_no_words_are_read_and_not_counted() -> None:
    found = verdict(0, 30, 50)
    assert (found.answer, found.read, found.share and found.share.texts) == (NO, 80, 30)
    none = verdict(0, 0, 40)
    assert (none.answer, none.share, none.read) == (CANNOT_TELL, None, 40)


def test_texts_outside_the_sample_are_not_read() -> None:
    table = rows(0, 30, 0)
    more = pd.DataFrame({name: [np.nan] * 50 for name in table}).assign(id=range(30, 80))
    found = judged(pd.concat([table, more]), True)
    assert found is not None
    assert found.read == 30
    assert judged(more, True) is None
    assert judged(pd.DataFrame({"id": [1]}), True) is None


def test_a_model_that_has_not_learned_its_task_gets_no_answer() -> None:
    assert verdict(40, 0, learned=False).answer == NOT_LEARNED
    assert verdict(40, 0, learned=None).answer == YES


def test_pools_that_disagree_give_no_answer() -> None:
    pools = [0.0] * 40 + [1.0] * 40
    found = verdict(40, 40, pool=pools)
    assert (found.answer, found.disagree, found.more) == (CANNOT_TELL, True, None)
    assert not is_decided(rows(40, 40, pool=pools))
    assert not verdict(40, 40).disagree


def test_pools_that_disagree_give_the_answer_that_both_allow() -> None:
    """A planted network under sparsemax got no answer, although attention was wrong in most texts with either pool."""
    pools, right = [0.0] * 40 + [1.0] * 40, [1.0] + [0.0] * 39 + [1.0] * 10 + [0.0] * 30
    both = rows(0, 80, pool=pools).assign(right=right)
    found = judged(both, True)
    assert found is not None
    assert (found.answer, found.disagree) == (NO, True)
    first, second = share_of(pd.Series(right[:40])), share_of(pd.Series(right[40:]))
    assert found.share is not None
    assert first is not None
    assert second is not None
    assert (found.share.low, found.share.high) == (first.low, second.high), "the interval holds the noise of pools"
    assert is_decided(both)


def test_where_texts_ended_first_it_says_how_many_would_decide() -> None:
    found = verdict(10, 14)
    assert (found.answer, found.guess) == (CANNOT_TELL, NO)
    assert found.more is not None
    texts = 24 + found.more
    enough = round(10 / 24 * texts)
    assert verdict(enough, texts - enough).answer == NO


def test_reading_stops_where_the_answer_is_known() -> None:
    assert is_decided(rows(0, 20))
    assert not is_decided(rows(0, 19, 40))
    assert not is_decided(rows(9, 11))
    assert not is_decided(rows(20, 0)), "further texts may still show that it is not nine in ten"
    assert not is_decided(rows(0, 0, 20))


def test_a_reading_is_recommended_only_if_it_is_clearly_better() -> None:
    better = [1.0] * 58 + [0.0] * 2
    little = [1.0] * 24 + [0.0] * 36
    found = verdict(15, 45, right_leave_one_out=better, right_gradient_input_signed=little, right_random=[1.0] * 60)
    assert found.instead is not None
    assert (found.instead[0], found.instead[1].value) == ("leave_one_out", pytest.approx(58 / 60))
    assert verdict(15, 45, right_gradient_input_signed=little).instead is None
    assert verdict(60, 0, right_leave_one_out=better).instead is None, "attention itself may be read"
    assert {*readings_in(rows(1, 1, right_leave_one_out=[1.0, 1.0]))} == {"leave_one_out", "random"}


def test_a_random_order_alone_is_no_reading_to_compare_with() -> None:
    """Of taggers no other reading is asked; the report said that none of those that were asked did better."""
    assert not verdict(15, 45).compared
    assert verdict(15, 45, right_leave_one_out=[0.0] * 60).compared


def test_the_example_is_a_text_in_which_words_decide_by_much() -> None:
    way = np.full(40, 0.6)
    way[[3, 30]] = 0.99, 0.95
    assert verdict(10, 30, with_words=way).example == 30, "most texts are wrong, so a wrong one is shown"
    assert verdict(30, 10, with_words=way).example == 3


def test_labels_of_one_text_count_together() -> None:
    """Twenty labels of each of two texts are no forty texts."""
    table = rows(0, 40).assign(text=[0] * 20 + [1] * 20, asked="good")
    found = judged(table, True)
    assert found is not None
    assert (found.answer, found.share and found.share.texts) == (CANNOT_TELL, 2)


@pytest.mark.parametrize(
    ("most", "looks"),
    [(5, [5]), (20, [20]), (100, [20, 40, 80, 100]), (160, [20, 40, 80, 160]), (600, [80, 160, 320, 600])],
)
def test_there_are_four_looks_at_most_however_many_texts_may_be_read(most, looks):
    assert looks_of(most) == looks
