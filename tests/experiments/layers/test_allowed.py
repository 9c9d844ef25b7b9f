"""What a row of attention may attend to is what is shuffled: in decoders too, and with sinks left as they are."""

import pytest
import torch

from attest.core.attention import Softmax, Sparsemax
from attest.core.attention.interventions import recorded
from attest.experiments.layers import activation_swap, observe_layers, permutation, tampering
from attest.experiments.layers.activation_swap import layer_activation_swap
from attest.experiments.layers.key_shuffle import key_shuffle
from attest.experiments.layers.permutation import _permuting, deciding_row_permutation, layer_permutation
from attest.experiments.layers.tampering import SinkKept, shuffled_within
from attest.models.networks import TransformerClassifier
from attest.models.pretrained.network import PretrainedNetwork
from tests.experiments.test_sink import first_token
from tests.models.pretrained.tiny import batch, tiny

KINDS = {"llama": {}, "mistral": {"sliding_window": 4}, "gemma2": {"sliding_window": 4}, "gpt2": {}, "gpt_oss": {}}
IDS, LABELS = torch.tensor([7, 3, 11]), torch.tensor([0, 1, 2])


@pytest.fixture(autouse=True)
def first_is_sink(monkeypatch):
    """Random models have no sink: the first token stands for one."""
    for module in (activation_swap, permutation, tampering):
        monkeypatch.setattr(module, "sinks_of", first_token)


@pytest.fixture(params=KINDS)
def observation(request):
    tokens, mask = batch()
    return observe_layers(PretrainedNetwork(tiny(request.param, **KINDS[request.param]), 0), IDS, tokens, mask)


def test_places_that_may_not_move_stay_and_all_others_are_shuffled_evenly():
    allowed = torch.tensor([False, True, True, False, True, False]).expand(6000, -1)
    order = shuffled_within(0, torch.arange(6000), allowed)
    assert (order[:, [0, 3, 5]] == torch.tensor([0, 3, 5])).all()
    moved = order[:, [1, 2, 4]]
    assert (moved.sort(dim=-1).values == torch.tensor([1, 2, 4])).all()
    _, counts = moved.unique(dim=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 880, "1,000 each on average, standard deviation 29"


def test_nothing_may_move():
    assert shuffled_within(0, torch.arange(2), torch.zeros(2, 4, dtype=torch.bool)).tolist() == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize("sink_kept", [False, True])
def test_no_row_of_a_decoder_attends_where_it_could_not(observation, sink_kept):
    rows = torch.arange(3)
    sinks = first_token(observation) if sink_kept else {}
    changes = _permuting(0, sinks, observation, rows, torch.tensor([5, 6, 7]))
    tampered = observation.under(*changes(list(observation.attention)[:1]))
    first, clean = (each.attention[next(iter(observation.attention))] for each in (tampered, observation))
    real = observation.mask[:, None, :, None].expand(clean.shape)
    assert not (first[real & (clean == 0)]).any()
    assert torch.equal(first.sort(dim=-1).values[real], clean.sort(dim=-1).values[real])
    assert not torch.equal(first[real], clean[real])
    assert torch.equal(first[..., 0][real[..., 0]], clean[..., 0][real[..., 0]]) == sink_kept


def test_a_sink_of_one_head_is_no_sink_of_another():
    tokens, mask = batch()
    seen = observe_layers(PretrainedNetwork(tiny("llama"), 0), IDS, tokens, mask)
    layer = next(iter(seen.attention))
    sinks = {name: each.clone() for name, each in first_token(seen).items()}
    sinks[layer][:, 1:] = False
    changes = _permuting(0, sinks, seen, torch.arange(3), torch.tensor([5, 6, 7]))
    moved = (seen.under(*changes([layer])).attention[layer][..., 0] != seen.attention[layer][..., 0]) & mask.unsqueeze(1)
    assert moved.flatten(2).any(dim=-1).tolist() == [[False, True, True, True]] * 3


def test_the_deciding_token_read_alone_says_what_the_whole_text_says(observation, monkeypatch):
    alone = deciding_row_permutation(observation, 4, 0)
    monkeypatch.setattr(PretrainedNetwork, "from_the_last", lambda *_: None)
    whole = deciding_row_permutation(observation, 4, 0)
    assert alone.keys() == whole.keys()
    for name, column in alone.items():
        torch.testing.assert_close(column, whole[name], rtol=1e-4, atol=1e-5, msg=name)
    assert (alone["tvd_median_deciding"] > 0).all()


@torch.no_grad()
def test_only_the_deciding_row_is_shuffled(observation, monkeypatch):
    monkeypatch.setattr(PretrainedNetwork, "from_the_last", lambda *_: None)
    network, seen = observation.network, []
    forward = PretrainedNetwork.forward

    def looking(self, tokens, mask):
        with recorded(network, "weights") as weights:
            logits = forward(self, tokens, mask)
        seen.append((len(tokens), dict(weights)))
        return logits

    monkeypatch.setattr(PretrainedNetwork, "forward", looking)
    deciding_row_permutation(observation, 1, 0)
    seen = [each for each in seen if each[0] == len(LABELS)]  # without what looks whether heads are shown
    first = next(iter(observation.attention))
    clean, last = observation.attention[first], observation.mask.sum(dim=-1) - 1
    for kept, (_, weights) in zip((False, True), (seen[0], seen[len(seen) // 2]), strict=True):
        for text, place in enumerate(last.tolist()):
            assert torch.equal(weights[first][text, :, :place], clean[text, :, :place])
            assert not torch.equal(weights[first][text, :, place], clean[text, :, place])
            if clean[text, :, place, 0].all():  # within the window
                assert torch.equal(weights[first][text, :, place, 0], clean[text, :, place, 0]) == kept


def test_shuffled_keys_leave_the_first_one_in_its_place(observation):
    columns = key_shuffle(observation, LABELS, 0, 3)
    assert (columns["jsd_shuffled_without_sink"] > 0).all()
    assert not torch.equal(columns["tvd_shuffled_without_sink"], columns["tvd_shuffled"])


FIRST = torch.tensor([True, False, False, False, False]).expand(2, 3, -1)


def test_a_projection_of_the_others_leaves_the_first_token_its_weight():
    torch.manual_seed(0)
    scores, allowed = torch.randn(2, 3, 5, 5, dtype=torch.double), torch.ones(5, 5).tril().bool().expand(2, 3, 5, 5)
    own, sparse = (projection(scores, allowed) for projection in (Softmax(), SinkKept(Sparsemax(), FIRST)))
    torch.testing.assert_close(SinkKept(Softmax(), FIRST)(scores, allowed), own)
    torch.testing.assert_close(sparse[..., 0], own[..., 0])
    torch.testing.assert_close(sparse.sum(dim=-1), torch.ones(2, 3, 5, dtype=torch.double))
    expected = Sparsemax()(scores[..., 1:, 1:], allowed[..., 1:, 1:]) * (1 - own[..., 1:, :1])
    torch.testing.assert_close(sparse[..., 1:, 1:], expected)
    assert (sparse[..., 0, 0] == 1).all(), "it can attend to nothing else"


def test_sparse_attention_without_the_sink_is_another_than_with_it(observation):
    columns = layer_activation_swap(observation, LABELS, {"softmax": Softmax(), "sparsemax": Sparsemax()})
    assert (columns["tvd_softmax_without_sink"] == 0).all()
    assert (columns["tvd_sparsemax_without_sink"] > 0).all()
    assert not torch.equal(columns["tvd_sparsemax_without_sink"], columns["tvd_sparsemax"])


def test_an_encoder_has_no_sink_to_leave_out():
    torch.manual_seed(0)
    tokens, mask = batch()
    seen = observe_layers(
        TransformerClassifier(40, 1, size=16, layers=2, heads=2, feedforward_size=16).eval(), IDS, tokens, mask
    )
    for columns in (layer_permutation(seen, LABELS % 2, 0, 2), key_shuffle(seen, LABELS % 2, 0, 2)):
        assert not [name for name in columns if "sink" in name or "deciding" in name]
