"""The exact adversary against exhaustive search, an independent optimiser, random feasible points and the real decoder."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.special import expit

from attest.core import memory
from attest.core.attention import Sparsemax
from attest.experiments.exact_adversary import LN2, exact_adversary
from tests.experiments.networks import observation_of, pooling_classifier

GRID = 60


def simplex(values):
    return values / values.sum()


problems = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, n, elements=st.floats(-4, 4).map(lambda x: round(x, 3))),
        arrays(np.float64, n, elements=st.floats(0, 1).map(lambda x: round(x, 2))),
        st.sampled_from([0.01, 0.05, 0.3]),
    )
)


def solve(margins, attention, epsilon):
    mask = torch.ones(1, len(margins), dtype=torch.bool)
    margins, attention = torch.tensor(margins)[None], torch.tensor(attention)[None]
    predicted = torch.sigmoid((margins * attention).sum(dim=-1))
    return exact_adversary(margins, attention, predicted, mask, epsilon)


def feasible(points, margins, attention, epsilon, slack=0.0):
    return abs(expit(points @ margins) - expit(attention @ margins)) <= epsilon + slack


@pytest.mark.whole("a fine grid")
@given(problems)
def test_no_point_of_a_fine_grid_is_better_and_the_optimum_is_feasible(problem):
    margins, attention, epsilon = problem
    assume(attention.sum() > 0)
    attention = simplex(attention)
    adversary = solve(margins, attention, epsilon)
    steps = GRID if len(margins) < 5 else 24
    counts = [c for c in itertools.product(range(steps + 1), repeat=len(margins) - 1) if sum(c) <= steps]
    grid = np.array([(*c, steps - sum(c)) for c in counts]) / steps
    grid = grid[feasible(grid, margins, attention, epsilon)]
    best = np.nanmax(jensenshannon(attention[None], grid, axis=1) ** 2, initial=0)
    assert adversary.jsd[0] >= best - 1e-9
    point = adversary.attention[0].numpy()
    assert feasible(point, margins, attention, epsilon, slack=1e-9)
    np.testing.assert_allclose(adversary.jsd[0], np.nan_to_num(jensenshannon(attention, point) ** 2), atol=1e-9)


@pytest.mark.whole("many repetitions")
@given(problems, st.integers(0, 2**32 - 1))
def test_no_vertex_that_a_linear_programme_finds_is_better(problem, seed):
    """Extreme points of the slab by an independent solver, one for every random direction."""
    margins, attention, epsilon = problem
    assume(attention.sum() > 0)
    attention = simplex(attention)
    generator, at = np.random.default_rng(seed), expit(attention @ margins)
    ends = [np.log(p / (1 - p)) if 0 < p < 1 else np.inf * np.sign(p - 0.5) for p in (at - epsilon, at + epsilon)]
    border, limit = zip(*((s * margins, s * e) for s, e in zip((-1, 1), ends, strict=True) if np.isfinite(e)), strict=True)
    exact = solve(margins, attention, epsilon).jsd[0]
    for _ in range(5):
        found = linprog(generator.normal(size=len(margins)), border, limit, np.ones((1, len(margins))), [1])
        assert found.success
        assert exact >= jensenshannon(attention, simplex(found.x)) ** 2 - 1e-7


@pytest.mark.parametrize("projection", [None, Sparsemax()])
@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_through_a_network_it_beats_random_feasible_points_and_holds_through_the_real_decoder(projection, epsilon):
    observation = observation_of(pooling_classifier(projection=projection, dtype=torch.float32), [17, 1, 2, 30, 8] * 4)
    adversary = exact_adversary(
        observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask, epsilon
    )
    weights = adversary.attention
    assert (weights[~observation.mask] == 0).all()
    logits = observation.network.decode(observation.hidden.detach(), weights.float())
    moved = (torch.sigmoid(logits)[:, 0] - observation.probabilities[:, 1]).abs()
    assert moved.max() <= epsilon + 1e-6
    generator = np.random.default_rng(0)
    for row, n in enumerate(observation.lengths.tolist()):
        margins, attention = observation.margins[row, :n].numpy(), observation.attention[row, :n].double().numpy()
        points = generator.dirichlet(np.full(n, 0.05), size=3000)
        points = points[feasible(points, margins, attention, epsilon, slack=-1e-7)]
        best = np.nanmax(jensenshannon(attention[None], points, axis=1) ** 2, initial=0)
        assert adversary.jsd[row] >= best - 1e-7


def test_edge_cases():
    one_token = solve(np.array([2.0]), np.array([1.0]), 0.01)
    assert one_token.jsd[0] == 0
    all_equal = solve(np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0]), 0.01)
    np.testing.assert_allclose(all_equal.jsd, LN2)
    near_zero = solve(np.array([-9.0, -50.0, -8.0]), np.array([0.0, 0.0, 1.0]), 0.01)  # lo is minus infinity
    np.testing.assert_allclose(near_zero.jsd, LN2)
    near_one = solve(np.array([9.0, 700.0, 8.0]), np.array([0.0, 0.0, 1.0]), 0.01)  # hi is infinity
    np.testing.assert_allclose(near_one.jsd, LN2)
    out_of_reach = solve(np.array([3.0, -3.0]), np.array([1.0, 0.0]), 0.01)
    assert 0 < out_of_reach.jsd[0] < 0.05


def test_a_larger_epsilon_is_never_worse_and_the_memory_budget_changes_nothing(monkeypatch):
    observation = observation_of(pooling_classifier(), [12, 5, 9])
    arguments = observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask
    narrow, wide = (exact_adversary(*arguments, epsilon).jsd for epsilon in (0.01, 0.05))
    assert (wide >= narrow).all()
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(exact_adversary(*arguments, 0.01).jsd, narrow)
