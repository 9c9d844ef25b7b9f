"""Areas between curves, by hand."""

import math

import pytest

from attest.core.measures.summary import area_between, racu

SHARES = [0.0, 0.5, 1.0]
RANDOM = [0.9, 0.8, 0.5]


def test_an_area_by_hand():
    assert area_between(SHARES, RANDOM, [0.9, 0.6, 0.5]) == pytest.approx(0.5 * (0 + 0.2) / 2 + 0.5 * (0.2 + 0) / 2)
    assert area_between(SHARES, [0.9, 0.6, 0.5], RANDOM) == pytest.approx(-0.1)


def test_racu_is_relative_to_falling_at_once():
    assert racu(SHARES, RANDOM, [0.5, 0.5, 0.5]) == pytest.approx(1)
    assert racu(SHARES, RANDOM, RANDOM) == 0
    most = 0.5 * (0.4 + 0.3) / 2 + 0.5 * (0.3 + 0) / 2
    assert racu(SHARES, RANDOM, [0.9, 0.6, 0.5]) == pytest.approx(0.1 / most)
    assert racu(SHARES, RANDOM, [0.9, 0.9, 0.5]) < 0


def test_where_nothing_is_lost_there_is_nothing_to_gain():
    assert math.isnan(racu(SHARES, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]))
