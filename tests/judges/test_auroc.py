"""AUROC with ties, undefined texts and intervals."""

import numpy as np
import pytest
import torch
from scipy import stats

from attest.judges.judging import auroc, tau_b

SETTINGS = {"tolerance": 1e-6, "draws": 400, "level": 0.95, "seed": 0}


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


def test_rounding_tells_nothing_apart_and_what_is_more_does():
    """Numbers that are 0 but for rounding had an AUROC of 0 or 1; a grid would part two that lie beside one of its lines."""
    noise = torch.linspace(1e-32, 6e-15, 30, dtype=torch.double)
    assert auroc(noise, torch.zeros(2, 30).double(), **SETTINGS) == (0.5, 0.5, 0.5)
    beside = torch.full((30,), 0.5e-6, dtype=torch.double)
    assert auroc(beside + 1e-8, beside.unsqueeze(0) - 1e-8, **SETTINGS).value == 0.5
    assert auroc(beside + 2e-6, beside.unsqueeze(0), **SETTINGS).value == 1


def test_tau_is_scipys_and_knows_no_order_in_rounding():
    draw = torch.Generator().manual_seed(3)
    x, y = torch.randint(5, (2, 40), generator=draw).double()
    assert tau_b(x, y, 1e-6) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert tau_b(x + 1e-8 * y, y, 1e-6) == tau_b(x, y, 1e-6)
    assert np.isnan(tau_b(1e-8 * y, y, 1e-6))
    assert np.isnan(tau_b(x.masked_fill(x == 4, torch.nan), y, 1e-6))


def test_the_interval_draws_whole_texts_again_with_what_everybody_says_of_them():
    """As a loop over draws does; one side drawn alone is narrower by a third."""
    draw = torch.Generator().manual_seed(4)
    ours, right = torch.rand(40, generator=draw) + 0.3, torch.rand(1, 40, generator=draw)
    found, again = auroc(ours, right, **SETTINGS | {"draws": 4000}), []
    for texts in np.random.default_rng(0).integers(40, size=(2000, 40)):
        again.append((ours.numpy()[texts][:, None] > right[0].numpy()[texts]).mean())
    assert (found.low, found.high) == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=0.015)
