"""Finding what is known to decide, by hand and against scikit-learn."""

import numpy as np
import torch
from sklearn.metrics import average_precision_score

from attest.experiments.erasure.outcomes import ranks_of
from attest.experiments.readings.truth import hangs_on, scores_against
from tests.experiments.networks import Given


def test_a_case_by_hand():
    mask = torch.tensor([[True, True, True, True, False]])
    truth = torch.tensor([[True, False, True, False, False]])
    ranks = torch.tensor([[[0, 1, 2, 3, 4], [3, 2, 1, 0, 4]]])
    scores = scores_against(ranks, truth, mask)
    np.testing.assert_allclose(scores["precision"], [[0.5, 0.5]])
    np.testing.assert_allclose(scores["depth"], [[3 / 4, 1.0]])
    np.testing.assert_allclose(scores["auprc"], [[(1 + 2 / 3) / 2, (1 / 2 + 2 / 4) / 2]])


def test_average_precision_is_that_of_scikit_learn():
    torch.manual_seed(0)
    weights, truth, mask = torch.rand(40, 1, 12), torch.rand(40, 12) < 0.3, torch.ones(40, 12, dtype=torch.bool)
    truth[:, 0] = True
    scores = scores_against(ranks_of(weights, torch.arange(40), mask, 0), truth, mask)
    expected = [average_precision_score(t, w) for t, w in zip(truth, weights[:, 0], strict=True)]
    np.testing.assert_allclose(scores["auprc"][:, 0], expected, atol=1e-9)


def test_without_any_truth_there_is_no_score():
    mask = torch.ones(1, 3, dtype=torch.bool)
    for truth in (~mask, mask):
        assert all(each.isnan().all() for each in scores_against(torch.tensor([[[0, 1, 2]]]), truth, mask).values())


class Summed(Given):
    """Reads whatever tokens it is given, all alike."""

    def project(self, scores, mask):
        return mask / mask.sum(dim=-1, keepdim=True).double()


def test_a_decision_hangs_on_the_token_that_makes_it():
    observation = Summed([0.2] * 5, [0.1, 9.0, 0.2, 0.1, 0.3]).observed()
    one = torch.zeros(1, 5, dtype=torch.bool)
    makes_it, does_not = one.clone(), one.clone()
    makes_it[0, 1], does_not[0, 2] = True, True
    # a random set may be the very token, and then is no better
    assert hangs_on(observation, does_not, 0).tolist() == [False]
    assert hangs_on(observation, makes_it, 0, sets=1).tolist() == [True] or hangs_on(
        observation, makes_it, 1, sets=1
    ).tolist() == [True]
    assert hangs_on(observation, one, 0).tolist() == [False]


def test_a_decision_does_not_hang_on_what_one_random_token_matches():
    """Two words that decide alike: of 20 random tokens one is the other of them, and the decision hangs on neither alone."""
    observation = Summed([0.2] * 5, [9.0, 9.0, 0.2, 0.1, 0.3]).observed()
    first = torch.tensor([[True, False, False, False, False]])
    assert not any(hangs_on(observation, first, seed).item() for seed in range(10))


def test_rounding_is_nothing_to_hang_on():
    network = Summed([0.2] * 3, [1.0, 1.0 - 1e-12, 1.0])
    first = torch.tensor([[True, False, False]])
    assert not any(hangs_on(network.observed(), first, seed, sets=1).item() for seed in range(20))
    sure = Summed([0.2] * 3, [1.0, 0.9, 0.9])
    assert any(hangs_on(sure.observed(), first, seed, sets=1).item() for seed in range(20))


def test_a_decision_does_not_hang_on_what_speaks_against_it():
    observation = Summed([0.4, 0.3, 0.3], [9.0, 1.0, -3.0]).observed()  # 2.3; 3 without the second, 5 without the third
    second = torch.tensor([[False, True, False]])
    assert not any(hangs_on(observation, second, seed, sets=1).item() for seed in range(20))
