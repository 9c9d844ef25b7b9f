"""Leave-one-out against a plain loop that deletes a token and reads the text again."""

import numpy as np
import pytest
import torch
from entmax import sparsemax

from attest.core import memory
from attest.core.attention import AdditiveScoring, DotScoring, Softmax, Sparsemax
from attest.core.attention.interventions import Intervention, intervene
from attest.experiments import importance, observe
from attest.experiments.importance import (
    leave_one_out_hidden,
    leave_one_out_hidden_renormalised,
    leave_one_out_inputs,
    predictions_without_each,
)
from attest.models.networks import (
    Average,
    BiGRU,
    BiLSTM,
    Cnn,
    Embedded,
    Hierarchical,
    PoolingClassifier,
    Windows,
    recurrent_without_each,
)
from tests.experiments.networks import VOCABULARY, DeepDecoder, FourSteps, observation_of, pooling_classifier, ragged_batch
from tests.fake_device import DEVICE, fake_device

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


ENCODERS = {
    "bilstm": lambda size: BiLSTM(size, 12, 8),
    "bigru": lambda size: BiGRU(size, 12, 8),
    "cnn": lambda size: Cnn(size, 12, (1, 3, 7), 5),
    "cnn without boundaries": lambda size: Cnn(size, 12, (5, 3), 5, wrapped=False),
    "cnn of single words": lambda size: Cnn(size, 12, (1,), 5),
    "average": lambda size: Average(size, 12, 8),
    "embedded": lambda size: Embedded(size, 12),
    "sentences": lambda size: Hierarchical(size, 12, 8),
    "sentences, convolutions": lambda size: Hierarchical(size, 12, encoder=lambda width: Windows(width, (5, 3), 6)),
}


def scattered(network, dtype):
    """Parameters large enough that every token matters."""
    torch.manual_seed(1)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return network.to(dtype).eval()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("scoring", [AdditiveScoring, DotScoring])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_the_fast_way_equals_encoding_every_shortened_text(encoder, outputs, scoring, dtype, tolerance):
    network = scattered(PoolingClassifier(VOCABULARY, outputs, encoder, scoring), dtype)
    _, tokens, mask = ragged_batch([9, 1, 5, 2, 14])
    if isinstance(network.encoder, Hierarchical):
        tokens = torch.stack([tokens, tokens.roll(1, dims=0)], dim=-1) * mask.unsqueeze(-1)
    fast, slow = (observe(each, torch.arange(5), tokens, mask) for each in (network, FourSteps(network)))
    assert hasattr(network, "read_without_each")
    something_left = mask & (slow.lengths > 1).unsqueeze(-1)
    theirs = predictions_without_each(slow)[something_left]
    torch.testing.assert_close(predictions_without_each(fast)[something_left], theirs, atol=tolerance, rtol=0)
    assert theirs.std() > 0.01


def test_readers_that_do_not_fit_side_by_side_are_read_in_blocks(monkeypatch):
    observation = observation_of(pooling_classifier(), LENGTHS)
    whole = predictions_without_each(observation)
    monkeypatch.setattr(recurrent_without_each, "ROWS", 2 * len(LENGTHS))
    torch.testing.assert_close(predictions_without_each(observation), whole, atol=1e-14, rtol=0)


def test_texts_that_have_ended_are_not_read(monkeypatch):
    rows, step = [], recurrent_without_each.LstmCell.step
    monkeypatch.setattr(
        recurrent_without_each.LstmCell,
        "step",
        lambda cell, state, inputs: rows.append(len(state[0].flatten(0, 1))) or step(cell, state, inputs),
    )
    network, (_, tokens, mask) = pooling_classifier(), ragged_batch(LENGTHS)
    network.read_without_each(tokens, mask)
    before_texts, whole_texts, variants = 2, 2 * mask.numel(), sum(n * (n - 1) for n in LENGTHS)  # in both directions
    assert sum(rows) == before_texts + whole_texts + variants


def test_on_an_accelerator_all_readers_take_a_step_together(monkeypatch):
    def launches(rows):
        monkeypatch.setattr(recurrent_without_each, "ROWS", rows)
        with fake_device() as device:
            network, (_, tokens, mask) = pooling_classifier().to(DEVICE), ragged_batch(LENGTHS)
            tokens, mask = tokens.to(DEVICE), mask.to(DEVICE)
            device.forget()
            network.read_without_each(tokens, mask)
            return device.launches

    assert launches(1) == launches(512)


def test_an_accelerator_reads_all_shortened_texts_at_once_if_they_fit(monkeypatch):
    def passes_of_layers(budget):
        monkeypatch.setattr(memory, "_budget", budget)
        with fake_device() as device:
            network, (ids, tokens, mask) = pooling_classifier().to(DEVICE), ragged_batch(LENGTHS)
            observation = observe(network, ids.to(DEVICE), tokens.to(DEVICE), mask.to(DEVICE))
            device.forget()
            found = predictions_without_each(observation).cpu()
            return len(device.layers), found[mask & (mask.sum(dim=-1) > 1).unsqueeze(-1)]

    (both_directions, at_once), (nothing, by_steps) = (passes_of_layers(budget) for budget in (1 << 30, 1 << 16))
    assert (both_directions, nothing) == (2, 0)
    torch.testing.assert_close(at_once, by_steps)


@pytest.mark.parametrize("place", ["keys", "scores"])
def test_whoever_tampers_with_whole_texts_sees_whole_texts(place):
    network = pooling_classifier()
    _, tokens, mask = ragged_batch(LENGTHS)
    with intervene(network, Intervention(place, lambda value, mask: value.flip(1))):
        fast, slow = (observe(each, torch.arange(5), tokens, mask) for each in (network, FourSteps(network)))
        tampered = predictions_without_each(fast)
        torch.testing.assert_close(tampered, predictions_without_each(slow))
    assert not torch.allclose(tampered[mask], predictions_without_each(fast)[mask])


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


def test_equal_tokens_in_a_row_tie_exactly(monkeypatch):
    """Also where the text without one of them and the text without the other are read with different rounding."""
    observation = observation_of(pooling_classifier(), [6])
    tokens = observation.tokens.clone()
    tokens[0] = torch.tensor([3, 5, 5, 5, 4, 4])
    again = observe(observation.network, observation.ids, tokens, observation.mask)
    rounding = 1e-12 * torch.arange(6).unsqueeze(-1)
    read = importance.predictions_without_each
    monkeypatch.setattr(importance, "predictions_without_each", lambda observation: read(observation) + rounding)
    moved = leave_one_out_inputs(again)[0]
    assert moved[1] == moved[2] == moved[3]
    assert moved[4] == moved[5]
    assert len({moved[0].item(), moved[1].item(), moved[4].item()}) == 3
