"""Work dealt in turns: all of it, each piece once, more of it to whoever is free."""

import sys
import time
from itertools import chain

import pytest
from torch import distributed

from attest.core.processes import Turns, together


def test_one_process_takes_every_place_in_order():
    turns = Turns(1)
    assert [list(turns.of(count)) for count in (3, 0, 2)] == [[0, 1, 2], [], [0, 1]]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")
def test_a_slow_process_takes_less_and_nothing_is_taken_twice():
    def work(rank):
        found = []
        for count in (12, 5):
            mine = []
            for place in turns.of(count):
                time.sleep(0.2 if rank else 0.01)
                mine.append(place)
            shares = [None] * 3
            distributed.all_gather_object(shares, mine)
            found.append(shares)
        return found

    turns = Turns(3)
    many, few = together(3, work)
    assert sorted(chain(*many)) == list(range(12))
    assert sorted(chain(*few)) == list(range(5))
    assert len(many[0]) > len(many[1])
