"""Evidence on passages with questions and candidates beside them, against plain loops that read a passage with these alone."""

import numpy as np
import pytest
import torch

from attest.core.attention import DotScoring, Sparsemax
from attest.core.measures import probabilities, total_variation
from attest.experiments import observe
from attest.experiments.deciding.experiment import neutral_in
from attest.experiments.erasure.operators import UNKNOWN, Background, operators
from attest.experiments.importance import leave_one_out_hidden, leave_one_out_inputs
from attest.experiments.permutation import attention_permutation
from attest.experiments.readings.formulas import integrated_gradients
from attest.experiments.registry import Context, chosen, runnable
from attest.models.networks import BiLSTM, ConditionedClassifier
from tests.experiments.networks import VOCABULARY

LENGTHS, ASKED = [6, 1, 4, 2, 6], [2, 3, 1, 3, 1]


def rows_of(texts, questions):
    """As a batch has them: passages from the left, questions to the right."""
    size, wide = max(map(len, texts)), max(map(len, questions))
    tokens = torch.zeros(len(texts), size + wide, dtype=torch.int64)
    for row, (text, question) in enumerate(zip(texts, questions, strict=True)):
        tokens[row, : len(text)] = torch.tensor(text)
        tokens[row, size + wide - len(question) :] = torch.tensor(question)
    return tokens, torch.arange(size + wide) < torch.tensor([[len(text)] for text in texts])


def drawn(lengths, seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(2, VOCABULARY, (length,), generator=generator).tolist() for length in lengths]


TEXTS, QUESTIONS = drawn(LENGTHS, 0), drawn(ASKED, 1)
CLASSES, CANDIDATES = 20, [[3, 19], [0, 1, 2, 3, 4, 5], [7, 17], [4, 11, 12], [5, 18]]
"""More classes than one hidden state has numbers."""


@pytest.fixture(params=["additive", "dot", "candidates"])
def network(request):
    torch.manual_seed(0)
    options = {"scoring": DotScoring, "projection": Sparsemax()} if request.param == "dot" else {}
    among = request.param == "candidates"
    classes = CLASSES if among else 3
    made = ConditionedClassifier(VOCABULARY, classes, lambda words: BiLSTM(words, 12, 8), among_candidates=among, **options)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    made.beside = [
        [VOCABULARY + candidate for candidate in candidates if among] + question
        for candidates, question in zip(CANDIDATES, QUESTIONS, strict=True)
    ]
    return made.double().eval()


@pytest.fixture
def observation(network):
    return observe(network, torch.arange(100, 105), *rows_of(TEXTS, network.beside))


def alone(network, text, row):
    """Class probabilities of one passage with what stands beside it, and no other row."""
    return probabilities(network(*rows_of([text], [network.beside[row]])))[0].detach()


@pytest.mark.parametrize("network", ["candidates"], indirect=True)
def test_only_candidates_have_a_probability_whatever_is_done_to_the_attention(network, observation):
    possible = torch.zeros(5, CLASSES, dtype=torch.bool)
    for row, candidates in enumerate(CANDIDATES):
        possible[row, candidates] = True
    draws = torch.rand(5, 7, observation.mask.shape[1]).double() * observation.mask.unsqueeze(1)
    under = observation.probabilities_under(draws / draws.sum(dim=-1, keepdim=True))
    for outcome in (observation.probabilities, *under.unbind(1)):
        assert (outcome[~possible] == 0).all()
        assert (outcome[possible] > 0).all()
    network.among_candidates = False
    unrestricted = probabilities(network(*rows_of(TEXTS, QUESTIONS))).detach() * possible
    torch.testing.assert_close(observation.probabilities, unrestricted / unrestricted.sum(dim=-1, keepdim=True))


def test_leave_one_out_deletes_of_the_passage_and_leaves_the_question(network, observation):
    ours = leave_one_out_inputs(observation)
    for row, text in enumerate(TEXTS):
        for t in range(len(text) if len(text) > 1 else 0):
            moved = total_variation(alone(network, text[:t] + text[t + 1 :], row), alone(network, text, row))
            np.testing.assert_allclose(ours[row, t], moved, atol=1e-12)
    assert ours[1, 0].isnan()
    assert ours.nan_to_num()[~observation.mask].abs().max() == 0


def test_leave_one_out_of_single_tokens_only_is_undefined(network):
    observation = observe(network, None, *rows_of([[5], [6]], network.beside[:2]))
    assert leave_one_out_inputs(observation)[:, 0].isnan().all()


def test_leave_one_out_of_hidden_states_projects_the_passages_other_scores(network, observation):
    ours = leave_one_out_hidden(observation)
    for row in (0, 2, 3, 4):
        n, states = LENGTHS[row], observation.hidden[row : row + 1].detach()
        for t in range(n):
            kept = observation.mask[row : row + 1].clone()
            kept[0, t] = False
            moved = probabilities(network.decode(states, network.project(observation.scores[row : row + 1], kept)))[0].detach()
            np.testing.assert_allclose(ours[row, t], total_variation(moved, observation.probabilities[row]), atol=1e-12)


KEPT = [[0, 2, 5], [0], [1], [0, 1], []]


@pytest.mark.parametrize("operator", ["delete", "mask"])
def test_erased_passages_are_read_with_their_questions(network, observation, operator):
    kept = torch.zeros(5, 2, observation.mask.shape[1], dtype=torch.bool)
    for row, places in enumerate(KEPT):
        kept[row, 1, places] = True
    kept[:, 0] = observation.mask
    ours = operators()[operator][0](observation, kept)
    for row, text in enumerate(TEXTS):
        label = int(observation.predicted[row])
        shorter = [token for place, token in enumerate(text) if place in KEPT[row]]
        masked = [token if place in KEPT[row] else UNKNOWN for place, token in enumerate(text)]
        np.testing.assert_allclose(ours[row, 0], observation.probabilities[row, label], atol=1e-12)
        if KEPT[row]:
            read = alone(network, shorter if operator == "delete" else masked, row)[label]
            np.testing.assert_allclose(ours[row, 1], read, atol=1e-12)


def test_replaced_tokens_are_of_the_passage_and_read_with_the_question(network, observation):
    background = Background.of([torch.tensor([7, 7, 7])])
    kept = torch.zeros(5, 1, observation.mask.shape[1], dtype=torch.bool)
    kept[:, 0, 0] = True
    ours = operators(background)["resample"][0](observation, kept)
    for row, text in enumerate(TEXTS):
        read = alone(network, [text[0]] + [7] * (len(text) - 1), row)[observation.predicted[row]]
        np.testing.assert_allclose(ours[row, 0], read, atol=1e-12)


def test_a_part_of_a_batch_keeps_its_questions(network, observation):
    part = observation.part(torch.tensor([2, 3]))
    assert part.tokens.shape == (2, 4 + max(map(len, network.beside)))
    torch.testing.assert_close(probabilities(network(part.tokens, part.mask)), observation.probabilities[[2, 3]])
    torch.testing.assert_close(probabilities(network.decode(part.hidden, part.weights)), observation.probabilities[[2, 3]])


def test_permutations_stay_within_the_passage(network, observation):
    """Of two tokens there is one other order."""
    columns = attention_permutation(observation, permutations=50)
    swapped = observation.attention[3:4].clone()
    swapped[0, :2] = swapped[0, :2].flip(0)
    moved = probabilities(network.decode(observation.hidden[3:4].detach(), swapped)).detach()
    expected = total_variation(moved, observation.probabilities[3:4])
    torch.testing.assert_close(columns["tvd_max"][3:4].double(), expected)
    assert columns["tvd_max"][1] < 1e-12


def test_integrated_gradients_add_up_to_what_the_passage_adds_to_its_question(network, observation):
    ours = integrated_gradients(observation)
    nothing = network.encoder.embedding.weight.clone()
    with torch.no_grad():
        network.encoder.embedding.weight.zero_()
        baseline = probabilities(network(*rows_of(TEXTS, network.beside)))
        network.encoder.embedding.weight.copy_(nothing)
    label = observation.predicted.unsqueeze(-1)
    expected = (observation.probabilities - baseline).gather(-1, label).squeeze(-1)
    torch.testing.assert_close(ours.sum(dim=-1), expected, atol=2e-3, rtol=0)
    assert (ours[~observation.mask] == 0).all()


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("name", [*runnable()])
def test_what_stands_beside_a_passage_in_its_batch_makes_no_difference_to_any_experiment(name, network, observation):
    """Each passage with its question alone, without padding, gives the numbers that it has among the others."""
    run, neutral = chosen({name: SETTINGS.get(name, {})})[name], (neutral_in(observation, 0),) * 2
    together = run(observation, Context(observation.predicted, observation.ids, neutral=neutral))
    for row, text in enumerate(TEXTS):
        single = observe(network, observation.ids[row : row + 1], *rows_of([text], [network.beside[row]]))
        apart = run(single, Context(single.predicted, observation.ids, neutral=neutral))
        for column, values in together.items():
            ours = values[row].double()[..., : len(text)] if values.ndim > 1 else values[row].double()
            if column not in apart:
                assert ours.isnan().all(), "columns of one text are left out where it has none of them"
                continue
            theirs = apart[column][0].double()[..., : len(text)] if values.ndim > 1 else apart[column][0].double()
            np.testing.assert_allclose(ours.detach(), theirs.detach(), atol=1e-7, err_msg=f"{column}, {text}")


SETTINGS = {"E14": {"texts": 5}, "E3": {"steps": 30, "restarts": 2}, "E10": {"texts": 5}, "E15": {"texts": 5, "weights": True}}
