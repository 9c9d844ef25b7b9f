"""Differences that count, and those that rounding makes."""

import pytest
import torch

from attest.core.rounding import compared, rounding


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_sums_in_another_order_are_equal_and_the_next_larger_difference_is_not(dtype):
    torch.manual_seed(0)
    parts = torch.rand(200, 100).to(dtype) / 100
    forth, back = (each.sum(dim=-1) for each in (parts, parts.flip(-1)))
    one_by_one = sum(parts.unbind(dim=-1)[1:], parts[:, 0])
    assert not compared(forth, back, rounding(dtype)).any()
    assert not compared(forth, one_by_one, rounding(dtype)).any() or dtype.itemsize == 2, "half precision adds up in more"
    more = torch.tensor([2.0, -2.0]) * rounding(dtype)
    assert compared(more, torch.zeros(2), rounding(dtype)).tolist() == [1.0, -1.0]


def test_what_is_undefined_stays_so():
    found = compared(torch.tensor([torch.nan, 0.5, torch.inf]), torch.tensor([0.5, torch.nan, 0.5]), 1e-5)
    assert found.isnan().tolist() == [True, True, False]
