"""The budget cuts work into pieces; freed memory stays with the process that asks for it."""

import subprocess
import sys

import pytest
import torch

from attest.core import memory

FAULTS = """
import resource, torch
from attest.core.memory import keep_freed_memory
keep_freed_memory()
def churn():
    return [torch.zeros(1 << 20) + number for number in range(4)]
churn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    churn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_memory_is_used_again_without_asking_the_system():
    faults = int(subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, check=True).stdout)
    pages_written = 20 * 4 * 1024  # of 4 KiB, were none used again; without the call there are twice as many faults
    assert faults < pages_written / 4


PIECES = """
import torch
from attest.core.memory import _resident, give_back_freed_memory, keep_freed_memory, set_memory_budget
keep_freed_memory()
set_memory_budget(1 / 4)
give_back_freed_memory()
before, kept = _resident(), []
for length in range(1, 41):  # what is kept of each batch lies where the next, longer one could have lain
    batch = torch.zeros(length << 18)
    kept.append(torch.zeros(64 << 10))
    del batch
    give_back_freed_memory()
print((_resident() - before) >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_memory_in_pieces_goes_back_to_the_system():
    grown = int(subprocess.run([sys.executable, "-c", PIECES], capture_output=True, check=True).stdout)
    assert grown < 2 * 64, "MiB: 10 are kept, 64 are a quarter of the budget; 820 where nothing goes back"


@pytest.mark.parametrize(("budget", "pieces"), [(memory.PIECE, [7]), (3 * 8, [3, 3, 1]), (1, [1] * 7)])
def test_rows_are_computed_a_few_at_a_time_within_the_smaller_budget(budget, pieces):
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows

    rows = torch.arange(7)
    assert torch.equal(memory.by_rows(double, 8, rows, budget=budget), 2 * rows)
    assert seen == pieces
