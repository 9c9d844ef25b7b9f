"""Limits against every set that there is, and AOPC against hand-worked sums."""

from itertools import combinations

import numpy as np
import pytest
import torch

from attest.core.attention import Softmax, Sparsemax
from attest.core.rounding import rounding
from attest.experiments.erasure.limits import beam_limits, exact_limits, has_exact_limits
from attest.experiments.erasure.operators import attention
from attest.experiments.erasure.outcomes import area, between_limits, outcomes_of, ranks_of, sizes, win_rate
from tests.experiments.networks import DeepDecoder, Given, observation_of, pooling_classifier


def every_fall(observation, row, count, alone):
    """The fall of the predicted class's probability for every set of a size."""
    length = int(observation.lengths[row])
    sets = list(combinations(range(length), count))
    kept = torch.zeros(1, len(sets), observation.mask.shape[-1], dtype=torch.bool)
    for place, each in enumerate(sets):
        kept[0, place, list(each)] = True
    part = observation.part(torch.tensor([row]))
    kept = kept[..., : part.mask.shape[-1]]
    before = observation.probabilities[row, observation.predicted[row]]
    return before - attention(part, kept if alone else ~kept & part.mask.unsqueeze(1))[0]


@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
@pytest.mark.parametrize("seed", range(4))
def test_exact_limits_are_those_of_every_set(projection, seed):
    observation = observation_of(pooling_classifier(projection=projection, seed=seed), [8, 2, 7, 5, 3] * 3, seed)
    assert has_exact_limits(observation)
    counts = sizes(observation.lengths, (0.01, 0.3, 0.5))
    lower, upper = exact_limits(observation, counts)
    for row in range(len(counts)):
        for place, count in enumerate(counts[row].tolist()):
            for alone in (0, 1):
                falls = every_fall(observation, row, count, bool(alone))
                np.testing.assert_allclose(lower[row, alone, place], falls.min(), atol=1e-9)
                np.testing.assert_allclose(upper[row, alone, place], falls.max(), atol=1e-9)


def test_a_case_by_hand():
    observation = Given([0.6, 0.3, 0.1], [1.0, -1.0, 5.0]).observed()  # 0.6 - 0.3 + 0.5 = 0.8: class 1
    lower, upper = exact_limits(observation, torch.tensor([[1]]))
    before = torch.tensor(0.8).double().sigmoid()
    without = torch.tensor([0.2 / 0.4, 1.1 / 0.7, 0.3 / 0.9]).double().sigmoid()
    alone = torch.tensor([1.0, -1.0, 5.0]).double().sigmoid()
    np.testing.assert_allclose(lower[0, :, 0], [before - without.max(), before - alone.max()], atol=1e-12)
    np.testing.assert_allclose(upper[0, :, 0], [before - without.min(), before - alone.min()], atol=1e-12)
    ranks = ranks_of(torch.tensor([[[0.6, 0.3, 0.1]]]), observation.ids, observation.mask, 0)
    aopc = area(before[None], outcomes_of(observation, ranks, torch.tensor([[1]]), attention))
    np.testing.assert_allclose(aopc[0, :, 0], [before - without[0], before - alone[0]], atol=1e-12)
    naopc = between_limits(aopc, lower.mean(-1, keepdim=True), upper.mean(-1, keepdim=True), 1e-9)
    np.testing.assert_allclose(naopc[0, 0, 0], (without.max() - without[0]) / (without.max() - without.min()), atol=1e-12)


def test_a_beam_as_wide_as_all_orders_finds_the_best_nested_order():
    observation = observation_of(DeepDecoder(pooling_classifier()), [4, 4, 4, 3, 2])
    counts = sizes(observation.lengths, (0.01, 0.5))
    lower, upper = beam_limits(observation, counts, width=64)
    for row, (first, second) in enumerate(counts.tolist()):
        length = int(observation.lengths[row])
        for alone in (False, True):
            single, double = (every_fall(observation, row, count, alone) for count in (first, second))
            sets = list(combinations(range(length), second))
            aopcs = [
                (single[place] + double[number]) / 2
                for number, each in enumerate(sets)
                for place in range(length)
                if place in each
            ]
            np.testing.assert_allclose(upper[row, int(alone)], max(aopcs), atol=1e-9)
            np.testing.assert_allclose(lower[row, int(alone)], min(aopcs), atol=1e-9)


def test_a_narrow_beam_lies_within_the_exact_limits():
    observation = observation_of(pooling_classifier(), [8, 5, 7, 6])
    counts = sizes(observation.lengths)
    lower, upper = (each.mean(dim=-1) for each in exact_limits(observation, counts))
    found_lower, found_upper = beam_limits(observation, counts)
    assert (found_lower >= lower - 1e-9).all()
    assert (found_upper <= upper + 1e-9).all()
    assert (found_upper - found_lower > 0.5 * (upper - lower)).all()


def test_ties_are_half_a_win_and_a_smaller_sufficiency_wins():
    aopc, random = torch.tensor([[[0.5], [0.5]]]), torch.tensor([[[0.1, 0.5, 0.9, 0.2], [0.1, 0.5, 0.9, 0.2]]])
    assert win_rate(aopc, random, 1e-9).flatten().tolist() == [0.625, 0.375]


def test_rounding_is_a_tie_and_a_thousandth_is_none():
    aopc = torch.full((1, 2, 1), 0.3)
    random = torch.tensor([0.1 + 0.2, 0.3 + 6e-8, 0.299, 0.301]).expand(1, 2, 4)
    assert win_rate(aopc, random, rounding(torch.float32)).flatten().tolist() == [0.5, 0.5]
    assert win_rate(aopc, random[..., 2:3], rounding(torch.float32)).flatten().tolist() == [1.0, 0.0]


def test_limits_that_are_one_leave_no_place_between():
    one = torch.tensor([0.3])
    assert between_limits(one, one, one + 3e-8, 1e-5).isnan().all()
