"""Leave-one-out against a plain loop that deletes a token and reads the text again."""

import numpy as np
import pytest
import torch
from entmax import sparsemax

from attest import memory
from attest.attention import Softmax, Sparsemax
from attest.evidence import observe
from attest.evidence.leave_one_out import (
    encode_without_each,
    leave_one_out_hidden,
    leave_one_out_hidden_renormalised,
    leave_one_out_inputs,
)
from tests.evidence.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier, ragged_batch

LENGTHS = [9, 1, 5, 2, 9]


def probability(network, tokens):
    """Of the positive class, for one text without padding."""
    return torch.sigmoid(network(tokens[None], torch.ones(1, len(tokens), dtype=torch.bool)))[0, 0]


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps])
@pytest.mark.parametrize("projection", [Softmax(), Sparsemax()])
def test_inputs_equal_deleting_and_reading_again(wrap, projection):
    network = pooling_classifier(projection=projection)
    observation = observation_of(wrap(network), LENGTHS)
    ours = leave_one_out_inputs(observation)
    for row, n in enumerate(LENGTHS):
        text = observation.tokens[row, :n]
        for t in range(n if n > 1 else 0):
            moved = probability(network, torch.cat([text[:t], text[t + 1 :]])) - probability(network, text)
            np.testing.assert_allclose(ours[row, t], moved.abs().item(), atol=1e-12)
    assert ours[1, 0].isnan()
    assert ours.nan_to_num()[~observation.mask].abs().max() == 0


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("removed", [range(9), range(3, 6), range(8, 9), range(0, 1)])
def test_the_fast_way_equals_the_generic_one(dtype, tolerance, removed):
    network = pooling_classifier(dtype=dtype)
    _, tokens, mask = ragged_batch(LENGTHS)
    fast, generic = network.encode_without_each(tokens, mask, removed), encode_without_each(network, tokens, mask, removed)
    for v, t in enumerate(removed):
        for row, n in enumerate(LENGTHS):
            if t < n:
                torch.testing.assert_close(fast[v, row, : n - 1], generic[v, row, : n - 1], atol=tolerance, rtol=0)


@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
def test_a_small_memory_budget_changes_nothing(wrap, monkeypatch):
    network = wrap(pooling_classifier())
    ample = [f(observation_of(network, LENGTHS)) for f in (leave_one_out_inputs, leave_one_out_hidden)]
    monkeypatch.setattr(memory, "_budget", memory._BYTES_PER_PAIR * max(LENGTHS) ** 2)
    scant = [f(observation_of(network, LENGTHS)) for f in (leave_one_out_inputs, leave_one_out_hidden)]
    torch.testing.assert_close(ample, scant, equal_nan=True, atol=1e-12, rtol=0)


@pytest.mark.parametrize("wrap", [lambda n: n, DeepDecoder])
def test_hidden_equals_the_definition(wrap):
    network = wrap(pooling_classifier(projection=Sparsemax()))
    observation = observation_of(network, LENGTHS)
    reprojected, renormalised = leave_one_out_hidden(observation), leave_one_out_hidden_renormalised(observation)
    prediction = observation.probabilities[:, 1]
    for row, n in enumerate(LENGTHS):
        for t in range(n if n > 1 else 0):
            others = [i for i in range(n) if i != t]
            anew = sparsemax(observation.scores[row, others].detach(), dim=-1)
            kept = observation.attention[row, others]
            for ours, weights in ((reprojected, anew), (renormalised, kept / (1 - observation.attention[row, t]))):
                logit = network.decode(observation.hidden[row : row + 1, others], weights[None])
                moved = (torch.sigmoid(logit)[0, 0] - prediction[row]).abs().item()
                np.testing.assert_allclose(ours[row, t], moved, atol=1e-12)


def test_for_softmax_projecting_anew_is_renormalising():
    observation = observation_of(pooling_classifier(), LENGTHS)
    torch.testing.assert_close(
        leave_one_out_hidden(observation), leave_one_out_hidden_renormalised(observation), equal_nan=True, atol=1e-12, rtol=0
    )


def test_without_the_only_token_that_has_attention_renormalising_is_undefined():
    network = pooling_classifier(projection=Sparsemax())
    observation = observation_of(network, [6] * 40)
    alone = observation.attention == 1
    assert alone.any()
    assert leave_one_out_hidden_renormalised(observation)[alone].isnan().all()
    assert not leave_one_out_hidden(observation).isnan().any()


def test_texts_of_one_token_alone_are_undefined():
    assert leave_one_out_inputs(observation_of(pooling_classifier(), [1, 1])).isnan().all()


def test_equal_tokens_in_a_row_tie_exactly():
    observation = observation_of(pooling_classifier(), [6])
    tokens = observation.tokens.clone()
    tokens[0] = torch.tensor([3, 5, 5, 5, 4, 4])
    again = observe(observation.network, observation.ids, tokens, observation.mask)
    importance = leave_one_out_inputs(again)[0]
    assert importance[1] == importance[2] == importance[3]
    assert importance[4] == importance[5]
    assert len({importance[0].item(), importance[1].item(), importance[4].item()}) == 3
