"""The rounding tolerance: smaller differences between two numbers do not count."""

import torch
from torch import Tensor

_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5, torch.bfloat16: 1e-2, torch.float16: 1e-2}


def rounding(dtype: torch.dtype) -> float:
    """Return the largest difference that rounding can make between two numbers near 1, for a given dtype."""
    return _ROUNDING[dtype]


def in_steps(values: Tensor, within: float | None = None) -> Tensor:
    """Divide numbers by their rounding error and round to integers, so that rounding differences disappear.

    Args:
        values: float, of any shape.
        within: the rounding error of the numbers; None for the rounding error of numbers near 1.
    """
    return (values / (within or rounding(values.dtype))).round()


def compared(first: Tensor, second: Tensor, within: float) -> Tensor:
    """Return 1 where ``first`` is larger, -1 where ``second`` is larger, and 0 where they are equal within rounding.

    Args:
        first, second: float, of shapes that broadcast; the result is NaN where ``first`` or ``second`` is NaN.
        within: the largest difference that still counts as equal, such as ``rounding(dtype)``.
    """
    difference = first.double() - second.double()
    counts = difference.sign().masked_fill(difference.abs() <= within, 0)
    return counts.where(~difference.isnan(), torch.nan)  # whose sign torch says is 0
