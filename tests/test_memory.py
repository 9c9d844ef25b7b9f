"""The budget cuts work into pieces; freed memory stays with the process that asks for it."""

import subprocess
import sys

import pytest
import torch

from attest import memory

FAULTS = """
import resource, torch
from attest.memory import keep_freed_memory
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


@pytest.mark.parametrize(("budget", "pieces"), [(None, [7]), (3 * 8, [3, 3, 1]), (1, [1] * 7)])
def test_rows_are_computed_a_few_at_a_time_within_the_smaller_budget(budget, pieces):
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows

    rows = torch.arange(7)
    assert torch.equal(memory.by_rows(double, 8, rows, budget=budget), 2 * rows)
    assert seen == pieces
