"""Copies of a process do the same work as one group; what is wrong in one is raised in the first, and none is left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from torch import distributed

from attest.core import memory
from attest.core.errors import AttestError
from attest.core.memory import PIECE, by_rows, set_memory_budget
from attest.core.processes import can_fork, together
from tests.conftest import fresh_shell
from tests.waiting import has_ended, wait_to_be_stopped

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone"),
    pytest.mark.usefixtures("one_thread"),
]


def ranks(rank):
    """Every rank and process id, as each sees them."""
    gathered = [None] * distributed.get_world_size()
    distributed.all_gather_object(gathered, (rank, os.getpid()))
    return gathered


def test_a_daemonic_process_is_told_that_it_may_have_no_others(monkeypatch, refusal):
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {"daemon": True})
    with refusal():
        together(2, ranks)


def test_all_talk_to_one_another_and_the_first_is_this_process():
    numbers, processes = zip(*together(3, ranks), strict=True)
    assert numbers == (0, 1, 2)
    assert processes[0] == os.getpid()
    assert len(set(processes)) == 3
    assert not distributed.is_initialized()


def test_a_notebook_stays_one_process(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert can_fork()
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert not can_fork()


def test_an_error_elsewhere_is_raised_here_and_soon():
    def fail(rank):
        if rank == 1:
            raise AttestError("the second text is empty")
        wait_to_be_stopped()

    started = time.perf_counter()
    with pytest.raises(AttestError, match="the second text is empty"):
        together(2, fail)
    assert time.perf_counter() - started < 30


def test_an_error_that_is_not_ours_is_told_with_its_place():
    def fail(rank):
        if rank == 1:
            raise KeyError("of this kind")
        ranks(rank)

    with pytest.raises(RuntimeError, match=r"KeyError: 'of this kind'[\s\S]*in fail"):
        together(2, fail)


def test_a_process_that_is_killed_is_told_of_with_what_to_type(refusal):
    def end(rank):
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        wait_to_be_stopped()

    with refusal():
        together(2, end)


def test_an_error_here_ends_the_others(tmp_path):
    def fail(rank):
        (tmp_path / str(os.getpid())).touch()
        ranks(rank)
        if rank == 0:
            raise KeyboardInterrupt
        wait_to_be_stopped()

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        together(2, fail)
    assert time.perf_counter() - started < 30, "at once, not when they are done"
    (other,) = (int(path.name) for path in tmp_path.iterdir() if path.name != str(os.getpid()))
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)


WAITING = """
import os, threading
from attest.core.processes import together
def wait(rank):
    os.write(1, f"{os.getpid()} ".encode())
    threading.Event().wait(60)
together(2, wait)
"""


@pytest.mark.whole("a killed process")
def test_the_others_end_with_a_first_process_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, env=fresh_shell()) as first:
        pids: list[int] = []
        while len(pids) < 2:
            pids = [int(each) for each in os.read(first.stdout.fileno(), 100).split()] + pids
        first.kill()
    (other,) = {*pids} - {first.pid}
    assert has_ended(other, seconds=10)


def test_only_one_at_a_time_takes_more_than_a_piece():
    inside = [multiprocessing.get_context("fork").Event() for _ in range(2)]

    def work(rank):
        met = []

        def step(row):
            inside[rank].set()
            met.append(inside[1 - rank].wait(0.3))
            inside[rank].clear()
            return row

        by_rows(step, PIECE + 1, torch.zeros(2, 1))
        gathered = [None, None]
        distributed.all_gather_object(gathered, met)
        return gathered

    assert together(2, work) == [[False, False], [False, False]], "neither met the other in any step"


@pytest.mark.parametrize("gibibytes", [0.0625, 1, 4])
def test_pieces_are_the_same_whatever_the_budget(gibibytes):
    with memory.budget_kept():
        set_memory_budget(gibibytes)
        assert memory.rows_at_once(1 << 20) == 64
        assert memory.processes_that_fit() == max(1, int(gibibytes * 16))
