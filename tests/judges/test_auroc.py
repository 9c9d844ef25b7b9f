"""AUROC with ties, undefined texts and intervals."""

import pytest
import torch

from attest.judges.auroc import auroc

SETTINGS = {"draws": 400, "level": 0.95, "seed": 0}


def by_counting(ours, right):
    pairs = [(x, y) for x in ours.tolist() for y in right.flatten().tolist()]
    return sum((x > y) + 0.5 * (not x > y and not x < y) for x, y in pairs) / len(pairs)


def test_equals_counting_with_ties_and_undefined():
    generator = torch.Generator().manual_seed(1)
    ours = torch.randint(4, (30,), generator=generator).double()
    right = torch.randint(4, (3, 30), generator=generator).double() - 1
    ours[3], right[1, 5] = torch.nan, torch.nan
    found = auroc(ours, right, **SETTINGS)
    assert found.value == pytest.approx(by_counting(ours, right))
    assert found.low < found.value < found.high


def test_a_coin_is_blind_and_an_oracle_sees():
    generator = torch.Generator().manual_seed(2)
    coin = torch.rand(3, 300, generator=generator)
    blind = auroc(coin[0], coin[1:], **SETTINGS)
    assert blind.low < 0.5 < blind.high
    assert auroc(torch.ones(300), torch.zeros(2, 300), **SETTINGS) == (1, 1, 1)
    assert auroc(torch.zeros(300), torch.ones(2, 300), **SETTINGS) == (0, 0, 0)


def test_undefined_everywhere_is_blind():
    assert auroc(torch.full((9,), torch.nan), torch.zeros(1, 9), **SETTINGS).value == 0.5
