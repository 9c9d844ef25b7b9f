"""How far apart two directions are."""

import torch
from torch import Tensor
from torch.nn import functional


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """1 - cos of two vectors: ``(..., H), (..., H) -> (...)`` in [0, 2]; 1 where one of them is 0.

    Half the squared distance of the unit vectors, which keeps the digits of nearly equal directions: ``1 - cos`` itself has
    none below the rounding of 1.
    """
    apart = 0.5 * (functional.normalize(a, dim=-1) - functional.normalize(b, dim=-1)).square().sum(dim=-1)
    known = (a != 0).any(dim=-1) & (b != 0).any(dim=-1)
    return apart.where(known, torch.ones_like(apart))
