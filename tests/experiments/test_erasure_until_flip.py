"""Erasure until the decision flips against a plain loop, and the minimum against every subset."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from attest.core.attention import Softmax, Sparsemax
from attest.experiments import erasure_until_flip, single_erasure
from attest.experiments.erasure_until_flip import attention_gradient
from tests.experiments.networks import DeepDecoder, FourSteps, Given, observation_of, pooling_classifier

LENGTHS = [6, 1, 2, 9, 3, 10, 4] * 4
ORDERS = ("attention", "gradient", "product")


def decides(observation, row, kept):
    """The class decided when only these tokens keep their weight."""
    weights = torch.zeros_like(observation.attention[row])
    weights[kept] = observation.attention[row, kept]
    logits = observation.network.decode(observation.hidden[row : row + 1].detach(), (weights / weights.sum())[None])[0]
    return int(logits > 0) if len(logits) == 1 else int(logits.argmax())


def plain_count(observation, row, order):
    """Erase one after another until the decision flips: how many in all, how many that were not 0."""
    attention, erased = observation.attention[row], []
    for index in order[:-1]:
        erased.append(index)
        kept = [i for i in order if i not in erased]
        if attention[kept].sum() == 0:
            break
        if decides(observation, row, kept) != observation.predicted[row]:
            return len(erased), int((attention[erased] > 0).sum())
    return np.nan, np.nan


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
@pytest.mark.parametrize("outputs", [1, 3])
def test_orders_equal_a_plain_loop(wrap, projection, outputs):
    observation = observation_of(wrap(pooling_classifier(outputs, projection)), LENGTHS)
    columns = erasure_until_flip(observation, seed=0)
    gradient = attention_gradient(observation)
    keys = dict(zip(ORDERS, (observation.attention, gradient, gradient * observation.attention), strict=True))
    for (name, key), row in itertools.product(keys.items(), range(len(LENGTHS))):
        n, support = LENGTHS[row], int((observation.attention[row] > 0).sum())
        order = key[row, :n].argsort(descending=True, stable=True).tolist()
        total, nonzero = plain_count(observation, row, order)
        np.testing.assert_allclose(columns[f"fraction_{name}"][row], total / n)
        np.testing.assert_allclose(columns[f"fraction_support_{name}"][row], nonzero / support)


def test_gradient_equals_finite_differences():
    network = pooling_classifier(outputs=3)
    observation = observation_of(network, [5, 3])
    ours, step = attention_gradient(observation), 1e-6
    for row, token in itertools.product(range(2), range(3)):
        shift = torch.zeros_like(observation.attention)
        shift[row, token] = step
        with torch.no_grad():
            up, down = (network.decode(observation.hidden, observation.attention + s).softmax(-1) for s in (shift, -shift))
        expected = (up - down)[row, observation.predicted[row]] / (2 * step)
        np.testing.assert_allclose(ours[row, token], expected, atol=1e-8)


@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_minimum_is_the_smallest_of_all_flipping_subsets(projection, outputs):
    observation = observation_of(pooling_classifier(outputs, projection), LENGTHS)
    columns = erasure_until_flip(observation, seed=0)
    for row, n in enumerate(LENGTHS):
        support = (observation.attention[row] > 0).nonzero().flatten().tolist()
        least = next(
            (
                size
                for size in range(1, len(support))
                for erased in itertools.combinations(support, size)
                if decides(observation, row, [i for i in support if i not in erased]) != observation.predicted[row]
            ),
            np.nan,
        )
        np.testing.assert_allclose(columns["fraction_support_minimum"][row], least / len(support))
        np.testing.assert_allclose(columns["fraction_minimum"][row], least / n)


def test_no_order_beats_the_minimum_and_excess_counts_by_how_much():
    observation = observation_of(pooling_classifier(), LENGTHS)
    columns = erasure_until_flip(observation, seed=0)
    least = columns["fraction_support_minimum"] * observation.lengths
    for name in (*ORDERS, "random"):
        excess = columns[f"excess_{name}"]
        assert (excess[~excess.isnan()] >= -1e-9).all()
        np.testing.assert_allclose(excess, columns[f"fraction_support_{name}"] * observation.lengths - least, atol=1e-9)
    assert (columns["excess_random"] > 0).any()


@pytest.mark.parametrize("outputs", [1, 3])
def test_orders_are_compared_on_the_texts_that_flip_in_all_of_them(outputs):
    columns = erasure_until_flip(observation_of(pooling_classifier(outputs, Sparsemax()), LENGTHS), seed=0)
    orders = [*ORDERS, "random", *(["minimum"] if outputs == 1 else [])]
    rows = range(len(LENGTHS))
    every = [all(not columns[f"fraction_{order}"][row].isnan() for order in orders) for row in rows]
    some = [any(not columns[f"fraction_{order}"][row].isnan() for order in orders) for row in rows]
    assert 0 < sum(every) < sum(some), "or there is nothing to tell apart"
    assert columns["flips_in_every_order"].tolist() == every
    for order in orders:
        expected = [columns[f"fraction_{order}"][row].item() if every[row] else np.nan for row in rows]
        np.testing.assert_array_equal(columns[f"fraction_common_{order}"], expected)


def test_without_a_linear_decoder_of_two_classes_there_is_no_minimum():
    for network in (pooling_classifier(outputs=3), DeepDecoder(pooling_classifier())):
        assert not any(
            "minimum" in name or "excess" in name for name in erasure_until_flip(observation_of(network, [5, 4]), 0)
        )


def test_a_weight_too_small_to_change_a_sum_decides_when_it_is_the_last():
    observation = Given([1.0, 3e-17], [1.0, -1.0]).observed()
    assert single_erasure(observation, seed=0)["only_top"] == 1
    columns = erasure_until_flip(observation, seed=0)
    assert columns["fraction_attention"] == columns["fraction_minimum"] == 0.5


WEIGHTS = st.sampled_from([0.0, 0.0, 3e-17, 1e-9, 1 / 16, 1 / 8, 1 / 8, 1 / 2, 1.0])
MARGINS = st.sampled_from([-7.0, -1.0, -1.0, 1 / 4, 1 / 4, 3.0])
texts = st.lists(st.tuples(WEIGHTS, MARGINS), min_size=1, max_size=6).filter(lambda tokens: max(tokens)[0] > 0.01)


@given(texts)
def test_counts_equal_exact_fractions_for_sparse_tied_and_tiny_weights(tokens):
    """No rounding in the witness: left over is a sum of fractions, and so is what it decides by."""
    whole = sum(weight for weight, _ in tokens)
    weights, margins = [weight / whole for weight, _ in tokens], [margin for _, margin in tokens]
    votes = [Fraction(w) * Fraction(m) for w, m in zip(weights, margins, strict=True)]

    def decision(kept):
        """None where floats cannot know: nothing is left, or votes cancel to less than they are rounded by."""
        total = sum(votes[i] for i in kept)
        return None if abs(total) <= sum(abs(votes[i]) for i in kept) / 10**12 else total > 0

    def counted(order):
        for erased in range(1, len(order)):
            if decision(order[erased:]) == (not decision(order)):
                return erased, sum(weights[i] > 0 for i in order[:erased])
        return np.nan, np.nan

    everyone = range(len(tokens))
    kept_sets = [kept for size in range(1, len(tokens) + 1) for kept in itertools.combinations(everyone, size)]
    assume(all(decision(kept) is not None for kept in kept_sets if any(weights[i] for i in kept)))
    observation = Given(weights, margins).observed()
    columns = {name: column.item() for name, column in erasure_until_flip(observation, seed=0, draws=1).items()}
    gradient = attention_gradient(observation)[0].tolist()
    keys = {"attention": weights, "gradient": gradient, "product": [w * g for w, g in zip(weights, gradient, strict=True)]}
    support = sum(weight > 0 for weight in weights)
    for name, key in keys.items():
        total, nonzero = counted(sorted(everyone, key=key.__getitem__, reverse=True))
        np.testing.assert_allclose(columns[f"fraction_{name}"], total / len(tokens))
        np.testing.assert_allclose(columns[f"fraction_support_{name}"], nonzero / support)
    flipping = [kept for kept in kept_sets if decision(kept) == (not decision(everyone))]
    least = min((support - sum(weights[i] > 0 for i in kept) for kept in flipping), default=np.nan)
    np.testing.assert_allclose(columns["fraction_support_minimum"], least / support)
