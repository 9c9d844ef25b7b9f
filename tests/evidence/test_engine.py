"""The engine keeps rows and seconds, and runs experiments on the tested explanation."""

from functools import partial

import pytest
import torch

from attest.evidence import Engine
from attest.experiments.readings import READINGS, Clock
from attest.experiments.registry import askable
from tests.experiments.networks import observation_of, pooling_classifier


@pytest.fixture(scope="module")
def seen():
    return observation_of(pooling_classifier(), [5, 3, 4])


def test_a_batch_that_fails_leaves_no_rows(seen):
    engine = Engine()
    engine.keep("E2", {"id": seen.ids}, seen.mask)

    def fails():
        with engine.whole_or_nothing():
            engine.keep("E2", {"id": seen.ids}, seen.mask)
            engine.keep("E8", {"id": seen.ids}, seen.mask)
            raise MemoryError

    with pytest.raises(MemoryError):
        fails()
    assert [len(rows) for rows in engine.take("E2")] == [3]
    assert not engine.take("E8")
    assert not engine.take("E2"), "they are taken once"


def test_further_columns_stand_beside_those_of_the_batch(seen):
    engine = Engine()
    engine.keep("instances", {"id": seen.ids, "attention": seen.attention}, seen.mask, tokens=[["a"], ["b"], ["c"]])
    (rows,) = engine.take("instances")
    assert rows["tokens"].tolist() == [["a"], ["b"], ["c"]]
    assert rows["attention"].map(len).tolist() == [5, 3, 4]


def test_numbers_are_undefined_where_the_reading_is(seen, monkeypatch):
    """E12 tests one reading; E15 compares several, and each says itself where it is defined."""
    undefined = torch.zeros_like(seen.attention)
    undefined[1] = torch.nan
    monkeypatch.setattr(type(READINGS["norm"]), "magnitude", lambda _, observation: observation.attention.detach() + undefined)
    engine = Engine(reading="norm")
    explained = engine.explained(seen)
    context = engine.context(seen.predicted, 3)
    erased = engine.columns(askable()["E11"], explained, context)
    assert all(column.isnan().tolist() == [False, True, False] for column in erased.values() if column.ndim == 1)
    compared = engine.columns(askable()["E15"], explained, context)
    assert not compared["comprehensiveness_random"].isnan().any()


def test_the_clock_counts_the_texts_on_which_readings_took_time(seen):
    engine = Engine()
    assert engine.clock.a_text() == {}
    engine.columns(askable()["E15"], seen, engine.context(seen.predicted, 3))
    assert engine.clock.texts == 3
    assert engine.clock.a_text() == {name: spent / 3 for name, spent in engine.clock.seconds.items()}
    assert "attention" in engine.clock.a_text()


def test_engines_share_no_clock():
    first, second = Engine(), Engine()
    first.clock.texts = 4
    assert second.clock == Clock()


def test_seconds_of_two_processes_are_counted_once_however_often_they_share(monkeypatch):
    """Each look at the texts shares again; a trial of four looks told seven times the seconds that it had taken."""
    ranks = Engine(), Engine()
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 2)

    def share():
        told = [(dict(each.rows), dict(each.seconds)) for each in ranks]
        monkeypatch.setattr("torch.distributed.all_gather_object", lambda found, _mine: found.__setitem__(slice(None), told))
        for rank, each in enumerate(ranks):
            monkeypatch.setattr("torch.distributed.get_rank", partial(int, rank))
            each.share()

    for _look in range(4):
        for each in ranks:
            each.seconds["E19"] += 1.0
        share()
    assert [each.seconds["E19"] for each in ranks] == [8.0, 0.0]
