"""The budget cuts work into pieces."""

import pytest
import torch

from attest.core import memory


@pytest.mark.parametrize(("budget", "pieces"), [(memory.PIECE, [7]), (3 * 8, [3, 3, 1]), (1, [1] * 7)])
def test_rows_are_computed_a_few_at_a_time_within_the_smaller_budget(budget, pieces):
    seen = []

    def double(rows):
        seen.append(len(rows))
        return 2 * rows

    rows = torch.arange(7)
    assert torch.equal(memory.by_rows(double, 8, rows, budget=budget), 2 * rows)
    assert seen == pieces
