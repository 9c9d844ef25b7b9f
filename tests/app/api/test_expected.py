"""How long a trial will take is said once, when enough of it is over."""

import io
import time

import pytest
import torch
from rich.console import Console

from attest.app.api import measuring as expected
from attest.app.api.measuring import Forecast, work_of


@pytest.fixture
def said(monkeypatch):
    """What is written by a forecast for 100 units of work, of which so many are over after so many seconds."""

    def after(*steps):
        written, clock = io.StringIO(), iter([0.0, *(seconds for _, seconds in steps)])
        monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
        forecast = Forecast(100.0, Console(file=written, width=200))
        for done, _ in steps:
            forecast.after(done)
        return written.getvalue()

    return after


def test_the_first_batches_tell_of_all(said):
    assert said((10.0, 30.0)) == "All texts will take about 5 min, judging by the first ones.\n"


def test_it_waits_until_something_is_known_and_says_it_once(said):
    assert said((1.0, 30.0), (4.0, 31.0)) == "", "of the work too little"
    assert said((50.0, 4.0)) == "", "too early"
    assert said((10.0, 30.0), (20.0, 50.0)).count("about") == 1


def test_a_short_wait_is_not_spoken_of(said):
    assert said((50.0, 6.0)) == ""
    assert expected.WORTH_SAYING > 6.0 / 50 * 100


def test_longer_texts_cost_more_than_as_many_tokens_in_short_ones():
    long, short = ({"mask": torch.ones(shape, dtype=torch.bool)} for shape in ((1, 40), (4, 10)))
    assert work_of(long) == pytest.approx(2 * work_of(short))
