"""Gradients against finite differences in float64, correlations against scipy, text by text."""

import numpy as np
import pytest
import torch
import yaml
from scipy import stats

from attest.core.attention import Softmax, Sparsemax
from attest.core.measures import kendall_tau_b
from attest.core.places import configs_folder
from attest.experiments import feature_importance, importance_entropy, observe
from attest.experiments.feature_importance import GRADIENTS, LEAVE_ONE_OUT
from attest.experiments.importance import gradient_norm_hidden, gradient_norm_inputs, gradient_times_input
from attest.experiments.readings import side_by_side
from attest.judges.judging import defendant
from attest.judges.texts import draw_texts
from tests.core.measures.test_rank_correlation import share_in_the_same_order
from tests.experiments.networks import DeepDecoder, FourSteps, Sentences, observation_of, pooling_classifier

LENGTHS = [7, 4, 1, 12]


def finite_difference(function, point, step=1e-6):
    """Gradient of a scalar function by central differences."""
    gradient = torch.zeros_like(point)
    for index in np.ndindex(*point.shape):
        shift = torch.zeros_like(point)
        shift[index] = step
        gradient[index] = (function(point + shift) - function(point - shift)) / (2 * step)
    return gradient


def from_embedded(network, observation, row):
    """Probability of the predicted class as a function of one text's embedded input."""
    n, k = int(observation.lengths[row]), int(observation.predicted[row])
    lookup = network.encoder.embedding

    def probability(embedded, attention=None):
        network.encoder.embedding = lambda tokens: embedded[None]
        try:
            tokens, mask = observation.tokens[row : row + 1, :n], torch.ones(1, n, dtype=torch.bool)
            hidden = network.encode(tokens, mask)
            weights = network.project(network.score(hidden, mask), mask) if attention is None else attention
            positive = torch.sigmoid(network.decode(hidden, weights))[0, 0]
        finally:
            network.encoder.embedding = lookup
        return positive if k == 1 else 1 - positive

    return probability


def test_gradients_equal_finite_differences():
    network = pooling_classifier()
    observation = observation_of(network, LENGTHS)
    del network.encoder._modules["embedding"]  # so that the attribute can stand for it
    network.encoder.embedding = None
    times_input, norms = gradient_times_input(observation), gradient_norm_inputs(observation)
    for row, n in enumerate(LENGTHS):
        probability = from_embedded(network, observation, row)
        embedded, attention = observation.embedded[row, :n].detach(), observation.attention[row : row + 1, :n]
        with torch.no_grad():
            constant = finite_difference(lambda e, p=probability, a=attention: p(e, a), embedded)
            through = finite_difference(probability, embedded).norm(dim=-1)
        np.testing.assert_allclose(times_input[row, :n], (constant * embedded).sum(dim=-1).abs(), atol=1e-8)
        np.testing.assert_allclose(norms[row, :n], through / through.sum(), atol=1e-7)


def test_hidden_gradient_equals_finite_differences():
    network = pooling_classifier(outputs=3)
    observation = observation_of(network, LENGTHS)
    norms = gradient_norm_hidden(observation)
    for row, n in enumerate(LENGTHS):
        mask = torch.ones(1, n, dtype=torch.bool)

        def probability(hidden, row=row, mask=mask):
            weights = network.project(network.score(hidden[None], mask), mask)
            return network.decode(hidden[None], weights).softmax(dim=-1)[0, observation.predicted[row]]

        with torch.no_grad():
            expected = finite_difference(probability, observation.hidden[row, :n].detach()).norm(dim=-1)
        np.testing.assert_allclose(norms[row, :n], expected / expected.sum(), atol=1e-7)


def test_with_attention_constant_the_hidden_gradient_is_the_attention():
    """tau = 1 by construction, which is why that gradient is no evidence."""
    observation = observation_of(pooling_classifier(), [9, 6, 15])
    logits = observation.network.decode(observation.hidden, observation.attention)
    (gradient,) = torch.autograd.grad(torch.sigmoid(logits).sum(), observation.hidden, retain_graph=True)
    tau = kendall_tau_b(observation.attention, gradient.norm(dim=-1), observation.mask).tau
    np.testing.assert_allclose(tau, 1)


@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
def test_correlations_equal_scipy(projection):
    observation = observation_of(pooling_classifier(projection=projection), LENGTHS)
    columns = feature_importance(observation)
    for name in GRADIENTS | LEAVE_ONE_OUT:
        for row, n in enumerate(LENGTHS):
            attention, importance = observation.attention[row, :n], columns[name][row, :n]
            if n == 1 or importance.isnan().any():
                assert columns[f"tau_{name}"][row].isnan()
                continue
            theirs = stats.kendalltau(attention, importance, method="asymptotic")
            np.testing.assert_allclose(columns[f"tau_{name}"][row], theirs.statistic, atol=1e-12)
            assert columns[f"significant_{name}"][row] == (theirs.pvalue < 0.05) or np.isnan(theirs.pvalue)
            on = attention > 0
            if on.sum() > 1:
                expected = stats.kendalltau(attention[on], importance[on]).statistic
                np.testing.assert_allclose(columns[f"tau_support_{name}"][row], expected, atol=1e-12)
    between = stats.kendalltau(columns["gradient_inputs"][3], columns["leave_one_out_inputs"][3]).statistic
    np.testing.assert_allclose(columns["tau_gradient_and_leave_one_out"][3], between, atol=1e-12)


@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
def test_concordant_shares_equal_a_plain_loop(projection):
    observation = observation_of(pooling_classifier(projection=projection), LENGTHS)
    columns = feature_importance(observation)
    of_attention = {f"concordant_{name}": (observation.attention, columns[name]) for name in GRADIENTS | LEAVE_ONE_OUT}
    between = {"concordant_gradient_and_leave_one_out": (columns["gradient_inputs"], columns["leave_one_out_inputs"])}
    for name, (x, y) in (of_attention | between).items():
        plain = [share_in_the_same_order(x[row, :n].tolist(), y[row, :n].tolist()) for row, n in enumerate(LENGTHS)]
        undefined = torch.tensor([bool(y[row, :n].isnan().any()) for row, n in enumerate(LENGTHS)])
        np.testing.assert_allclose(columns[name], np.where(undefined, np.nan, plain), atol=1e-12, err_msg=name)


def test_importances_are_what_they_promise():
    columns = feature_importance(observation_of(pooling_classifier(), LENGTHS))
    for name in ("gradient_norm_inputs", "gradient_norm_hidden"):
        np.testing.assert_allclose(columns[name].sum(dim=-1), 1)
    for name in LEAVE_ONE_OUT:
        assert columns[name].nan_to_num().min() >= 0
        assert columns[name].nan_to_num().max() <= 1


@pytest.mark.parametrize("wrap", [FourSteps, DeepDecoder])
def test_four_steps_are_enough(wrap):
    columns = feature_importance(observation_of(wrap(pooling_classifier(outputs=3)), LENGTHS))
    assert columns["tau_leave_one_out_inputs"].isnan().tolist() == [False, False, True, False]


def test_gradients_alone_cost_no_forward_pass():
    columns = feature_importance(observation_of(pooling_classifier(), LENGTHS), leave_one_out=False)
    assert not any("leave_one_out" in name for name in columns)


def test_whoever_asks_without_gradients_gets_the_same():
    columns = feature_importance(observation_of(pooling_classifier(), LENGTHS))
    with torch.no_grad():
        again = feature_importance(observation_of(pooling_classifier(), LENGTHS))
    torch.testing.assert_close(again, columns, equal_nan=True)


def test_where_sentences_stand_for_tokens_their_words_count_together():
    """A sentence is as important as all its words, and leaving it out leaves out all of them."""
    network, mask = Sentences().eval(), torch.tensor([[True, True, True], [True, True, False]])
    sentences = torch.randint(2, 50, (2, 3, 4), generator=torch.Generator().manual_seed(0)) * mask.unsqueeze(-1)
    observation = observe(network, torch.arange(2), sentences, mask)
    columns = feature_importance(observation)
    gradient = torch.autograd.grad(torch.sigmoid(observation.logits).sum(), observation.embedded, retain_graph=True)[0]
    norms = gradient.square().sum(dim=(2, 3)).sqrt() * mask
    torch.testing.assert_close(columns["gradient_norm_inputs"], norms / norms.sum(dim=-1, keepdim=True))
    without_first = network.decode(
        observation.hidden[:1, 1:], observation.attention[:1, 1:] / observation.attention[0, 1:].sum()
    )
    moved = (torch.sigmoid(without_first)[0, 0] - observation.probabilities[0, 1]).abs()
    torch.testing.assert_close(columns["leave_one_out_inputs"][0, 0], moved.detach())
    assert not importance_entropy(observation, observation.ids)["entropy_hidden"].isnan().any()


STATED = yaml.safe_load((configs_folder() / "judges" / "constructed.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["shadow", "broadcast"])
def test_words_without_effect_have_no_order(name):
    """Of these networks nearly all words move the prediction by rounding alone: τ in float32 was another by up to 2."""
    texts = draw_texts("token", 20, 0)
    single, double = (
        feature_importance(observe(network, texts.ids, texts.tokens, texts.mask))
        for network in (defendant(STATED, name, "token"), defendant(STATED, name, "token").double())
    )
    for name in ("leave_one_out_inputs", "leave_one_out_hidden"):
        np.testing.assert_allclose(single[f"tau_{name}"], double[f"tau_{name}"], atol=0.01, err_msg=name)


def test_readings_agree_with_leave_one_out_in_no_order_of_rounding():
    """The same in E15: τ of attention and leave-one-out."""
    texts = draw_texts("token", 20, 0)
    single, double = (
        side_by_side(observe(network, texts.ids, texts.tokens, texts.mask), texts.ids, 20)["tau_attention_and_leave_one_out"]
        for network in (defendant(STATED, "broadcast", "token"), defendant(STATED, "broadcast", "token").double())
    )
    np.testing.assert_allclose(single, double, atol=0.01)


def test_l1_norms_stand_beside_l2_norms_where_they_are_asked_for():
    """By hand: the sum of absolute entries of the gradient, in place of the root of their squares."""
    observation = observation_of(pooling_classifier(), LENGTHS)
    unasked, columns = (feature_importance(observation, leave_one_out=False, l1=l1) for l1 in (False, True))
    assert unasked.keys() < columns.keys()
    assert all(torch.equal(columns[name].nan_to_num(), unasked[name].nan_to_num()) for name in unasked)
    positive = torch.sigmoid(observation.logits[:, 0])
    for name, inputs in (("inputs", observation.embedded), ("hidden", observation.hidden)):
        (gradient,) = torch.autograd.grad(positive.sum(), inputs, retain_graph=True)
        for row, n in enumerate(LENGTHS):
            by_hand = np.abs(gradient[row, :n].numpy()).sum(axis=-1)
            found = columns[f"gradient_l1_norm_{name}"][row].numpy()
            np.testing.assert_allclose(found[:n], by_hand / by_hand.sum(), rtol=1e-6)
            assert not found[n:].any()
    assert not torch.allclose(columns["gradient_l1_norm_inputs"], columns["gradient_norm_inputs"])
    assert "tau_gradient_l1_norm_hidden" in columns
