"""The budget cuts work into pieces."""

import pytest
import torch

from attest.core import memory
from tests.fake_device import DEVICE, fake_device


@pytest.mark.parametrize(("budget", "pieces"), [(memory.PIECE, [7]), (3 * 8, [3, 3, 1]), (1, [1] * 7)])
def test_rows_are_computed_a_few_at_a_time_within_the_smaller_budget(budget, pieces):
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows

    rows = torch.arange(7)
    assert torch.equal(memory.by_rows(double, 8, rows, budget=budget), 2 * rows)
    assert seen == pieces


@pytest.mark.parametrize(("gibibytes", "pieces"), [(1.0, [7]), (0.5, [4, 3]), (1e300, [7])])
def test_an_accelerator_computes_as_many_rows_at_once_as_the_memory_budget_allows(gibibytes, pieces):
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows

    with fake_device(), memory.budget_kept():
        memory.set_memory_budget(gibibytes)
        rows = torch.arange(7, device=DEVICE)
        assert memory.by_rows(double, 1 << 27, rows, budget=memory.CACHE).tolist() == [0, 2, 4, 6, 8, 10, 12]
    assert seen == pieces
