"""E14 that draws sets for a text only until it is clear which of the two wins."""

import itertools
from functools import partial

import numpy as np
import pytest

from attest.experiments.erasure.four_operators import KINDS, erasure
from attest.experiments.erasure.operators import operators
from attest.experiments.erasure.outcomes import outcomes_of, random_ranks, ranks_of, sizes
from attest.experiments.erasure.until_clear import unbiased
from tests.experiments.erasure.test_four_operators import BACKGROUND
from tests.experiments.networks import observation_of, pooling_classifier


@pytest.mark.parametrize("lead", [1, 2, 3, 9])
def test_the_mean_over_all_orders_is_the_win_rate(lead):
    chances = {(1, 0): 0.5, (0, 1): 0.2, (0, 0): 0.3}  # of a comparison won, lost and tied
    table, expected, made = unbiased(5, lead), 0.0, 0.0
    for order in itertools.product(chances, repeat=5):
        points = np.cumsum(order, axis=0)
        clear = np.flatnonzero(abs(points[:, 0] - points[:, 1]) >= lead)
        last = clear[0] if len(clear) else 4
        chance = np.prod([chances[each] for each in order])
        expected += chance * table[last, points[last, 0], points[last, 1]]
        made += chance * (last + 1)
    assert expected == pytest.approx(0.5 + 0.3 / 2, abs=1e-12)
    assert (made < 4.999) == (lead < 5)


@pytest.mark.parametrize("name", ["delete", "resample"])
def test_equals_comparing_one_set_after_another(name):
    observation, lead, count = observation_of(pooling_classifier(), [6, 2, 9, 3, 14, 4, 5, 7, 11, 8]), 3, 12
    ask = partial(
        erasure, observation, observation.ids, sets=count, background=BACKGROUND, erase_by=[name], extras=False, texts=10
    )
    columns = ask(lead=lead)
    random = random_ranks(observation.ids, observation.ranked, count, 0)
    own = ranks_of(observation.explanation.unsqueeze(1), observation.ids, observation.ranked, 0)
    counts, before = sizes(observation.erasable), observation.confidence.numpy()
    draws = operators(BACKGROUND, 0)[name]

    def outcomes(ranks):
        """Of each draw, ``(draws, B, 2, sets)``."""
        return np.stack([outcomes_of(observation, ranks, counts, each).double().mean(dim=-1).numpy() for each in draws])

    drawn, mine = outcomes(random), outcomes(own)
    made = []
    for row, (place, kind) in itertools.product(range(10), enumerate(KINDS)):
        wins = losses = 0
        under = [drawn[last % len(draws), row, place, last] for last in range(count)]
        for last in range(count):
            more = under[last] - mine[last % len(draws), row, place, 0]  # the same draw erases both
            if abs(more) > observation.within:
                beaten = (more > 0) == (kind == "comprehensiveness")
                wins, losses = wins + beaten, losses + (not beaten)
            if abs(wins - losses) >= lead:
                break
        made.append(last + 1)
        assert columns[f"win_{kind}_{name}"][row].item() == unbiased(count, lead)[last, wins, losses]
        left = before[row] - np.mean(under[:lead])
        np.testing.assert_allclose(columns[f"random_{kind}_{name}"][row], left, atol=1e-7)
    assert lead <= min(made) < max(made) <= count, "some texts are clear early, others late"
    everything = ask()
    same = [f"{kind}_{name}" for kind in (*KINDS, "violation")]
    assert all((columns[each] - everything[each]).abs().max() < 1e-7 for each in same if each in columns)
    with_all = ask(lead=count + 1)
    for each, column in everything.items():
        if name == "delete":  # of several draws the mean of their rates is no rate of all sets: they have 3 or 2 sets each
            np.testing.assert_allclose(with_all[each], column, atol=1e-7, err_msg=each)
