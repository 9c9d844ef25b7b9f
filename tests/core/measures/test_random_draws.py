"""Draws that belong to an instance: distributed as promised, the same in any company."""

import torch
from scipy import stats

from attest.core.randomness import random_normals, random_order


def test_normals_are_normal():
    draws = random_normals(7, torch.arange(40), 25, 50, torch.float64)
    assert stats.kstest(draws.flatten(), "norm").pvalue > 0.01
    assert abs(torch.corrcoef(draws.flatten(1)).triu(1)).max() < 0.15


def test_an_instance_draws_the_same_in_any_company():
    ids = torch.tensor([3, 99, 12])
    whole, alone = random_normals(0, ids, 4, 9, torch.float32), random_normals(0, ids[1:2], 4, 6, torch.float32)
    assert torch.equal(whole[1:2, :, :6], alone)
    mask = torch.ones(3, 9, dtype=torch.bool)
    assert torch.equal(random_order(0, ids, 4, mask)[1:2, :, :6], random_order(0, ids[1:2], 4, mask[1:2, :6]))


def test_a_random_choice_is_uniform_over_what_is_allowed():
    mask = torch.tensor([True, False, True, True]).expand(3000, 4)
    chosen = random_order(1, torch.arange(3000), 1, mask).argmax(dim=-1).flatten()
    counts = chosen.bincount(minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3]]).pvalue > 0.01
