"""The search against itself written plainly with autograd, and against the exact optimum that it cannot pass."""

import pytest
import torch

from attest.core import memory
from attest.core.attention import Sparsemax
from attest.core.measures import jensen_shannon, total_variation
from attest.experiments import adversarial_attention
from attest.experiments.adversarial_search import SearchObjective, largest_jsd, search_adversaries
from attest.experiments.exact_adversary import exact_adversary
from tests.experiments.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier

LENGTHS = [6, 1, 4, 9]
RESTARTS = 3


def plain_jsd(p, q):
    """By KL divergences; the tiny numbers keep autograd away from the logarithm of 0 at padding."""
    mean = (p + q) / 2 + 1e-290
    return 0.5 * sum((each * ((each + 1e-290) / mean).log()).sum(dim=-1) for each in (p, q))


def plain_objective(observation, logits, epsilon):
    """Summed over a batch, as the paper has it: - JSD + 500 relu(TVD - epsilon) - cross-JSD."""
    weights = logits.softmax(dim=-1)
    outcomes = [observation.network.decode(observation.hidden.detach(), each) for each in weights.unbind(dim=1)]
    if outcomes[0].shape[-1] == 1:
        outcomes = [torch.cat([torch.sigmoid(-z), torch.sigmoid(z)], dim=-1) for z in outcomes]
    else:
        outcomes = [z.softmax(dim=-1) for z in outcomes]
    loss = 0.0
    for i, (p, outcome) in enumerate(zip(weights.unbind(dim=1), outcomes, strict=True)):
        loss = loss - plain_jsd(p, observation.attention).sum()
        loss = loss + 500 * (total_variation(outcome, observation.probabilities) - epsilon).relu().sum()
        for q in weights.unbind(dim=1)[:i]:
            loss = loss - plain_jsd(p, q).sum() / (RESTARTS * (RESTARTS - 1))
    return loss


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
def test_gradient_equals_autograd(outputs, wrap):
    observation = observation_of(wrap(pooling_classifier(outputs)), LENGTHS)
    objective = SearchObjective(observation, torch.arange(len(LENGTHS)), RESTARTS, epsilon=0.001)
    logits = objective.starting_points(seed=1)
    ours = objective.gradient(logits)
    (theirs,) = torch.autograd.grad(plain_objective(observation, logits.requires_grad_(), 0.001), logits)
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=0)
    assert ours.abs().max() > 1


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps])
def test_the_search_equals_plain_adam(wrap):
    observation = observation_of(wrap(pooling_classifier()), LENGTHS)
    ours = search_adversaries(observation, RESTARTS, steps=40, epsilon=0.01, seed=3)
    logits = SearchObjective(observation, torch.arange(4), RESTARTS, 0.01).starting_points(seed=3).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.01, amsgrad=True)
    for _ in range(40):
        adam.zero_grad()
        plain_objective(observation, logits, 0.01).backward()
        adam.step()
    torch.testing.assert_close(ours, logits.softmax(dim=-1), atol=1e-6, rtol=0)


def test_search_finds_much_and_never_passes_the_exact_optimum():
    observation = observation_of(pooling_classifier(), [5, 9, 14] * 4)
    columns = adversarial_attention(observation, restarts=5, steps=500, seed=0)
    for kind in ("", "_filter"):
        assert (columns[f"jsd_exact{kind}"] >= columns[f"jsd_search{kind}"] - 1e-9).all()
    assert columns["jsd_search_filter"].median() > columns["jsd_exact_filter"].median() / 2
    assert columns["tvd_exact"].max() <= 0.01 + 1e-9


def test_each_column_keeps_to_the_distance_that_it_is_named_for():
    observation = observation_of(pooling_classifier(), [9, 12, 20])
    search = {"restarts": 3, "steps": 60, "seed": 0}
    columns = adversarial_attention(observation, epsilon=0.01, filter_epsilon=0.2, **search)
    problem = observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask
    candidates = search_adversaries(observation, epsilon=0.01, **search)
    for kind, epsilon in (("", 0.01), ("_filter", 0.2)):
        assert torch.equal(columns[f"jsd_exact{kind}"], exact_adversary(*problem, epsilon).jsd)
        assert torch.equal(columns[f"jsd_search{kind}"], largest_jsd(observation, candidates, (epsilon,))[0])
    for how in ("exact", "search"):
        assert (columns[f"jsd_{how}_filter"] > columns[f"jsd_{how}"]).any()
    weights = exact_adversary(*problem, 0.01).attention
    assert torch.equal(columns["adversary"], weights)


def test_candidates_that_move_the_prediction_do_not_count():
    observation = observation_of(pooling_classifier(), LENGTHS)
    alone = torch.eye(9, dtype=torch.float64).expand(4, 9, 9)
    for epsilon in (0.01, 0.2):
        (jsd,) = largest_jsd(observation, alone, (epsilon,))
        moved = (torch.sigmoid(observation.margins) - observation.probabilities[:, 1:]).abs()
        for row in range(4):
            near = [i for i in range(9) if moved[row, i] <= epsilon]
            best = max((jensen_shannon(alone[row, i], observation.attention[row]) for i in near), default=0)
            assert jsd[row] == best


def test_padding_stays_without_attention_and_neighbours_do_not_matter(monkeypatch):
    network = pooling_classifier()
    together = observation_of(network, LENGTHS)
    whole = search_adversaries(together, RESTARTS, 30, 0.01, seed=0)
    assert (whole[~together.mask.unsqueeze(1).expand_as(whole)] == 0).all()
    torch.testing.assert_close(whole.sum(dim=-1), torch.ones(4, RESTARTS, dtype=torch.float64))
    monkeypatch.setattr(memory, "_budget", 1)
    torch.testing.assert_close(search_adversaries(together, RESTARTS, 30, 0.01, seed=0), whole)


def test_more_than_two_classes_are_searched_only():
    columns = adversarial_attention(observation_of(pooling_classifier(outputs=3), LENGTHS), restarts=2, steps=5, seed=0)
    assert set(columns) == {"jsd_search", "jsd_search_filter", "max_attention"}


def test_two_softmax_outputs_are_solved_exactly_too():
    observation = observation_of(pooling_classifier(outputs=2, projection=Sparsemax()), LENGTHS)
    columns = adversarial_attention(observation, restarts=0)
    assert "jsd_search" not in columns
    assert columns["tvd_exact"].max() <= 0.01 + 1e-9
    assert columns["jsd_exact"][1] == 0
