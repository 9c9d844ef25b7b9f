"""The last token read alone says what the whole text says, at a fraction of the work; elsewhere it is not offered."""

import pytest
import torch

pytest.importorskip("transformers", reason="needs the extra transformers")

from attest.attention import Sparsemax
from attest.attention.interventions import Intervention, intervene
from attest.pretrained.last_token import last_real
from attest.pretrained.network import PretrainedNetwork
from tests.pretrained.tiny import DECODERS, batch, tiny


@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_texts_are_read_again_in_any_order_and_number(name):
    network, (tokens, mask) = PretrainedNetwork(tiny(name), 0), batch()
    clean, again = network(tokens, mask), network.from_the_last(tokens, mask)
    rows = torch.tensor([2, 0, 0, 1])
    torch.testing.assert_close(again(rows), clean[rows], rtol=1e-5, atol=2e-6)
    with intervene(network, Intervention("projection", Sparsemax())):
        assert not torch.allclose(again(rows), clean[rows], atol=1e-3), "and it feels what is done to its attention"


@torch.no_grad()
def test_earlier_tokens_pass_once():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()
    read = []
    network.model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: read.append(inputs[0].numel()))
    again = network.from_the_last(tokens, mask)
    assert read == [27, 3], "the clean pass, and the last tokens to see that they say the same"
    again(torch.tensor([0, 0, 2, 1]))
    assert read[2:] == [4]


@torch.no_grad()
def test_where_it_would_not_be_exact_it_is_not_offered(monkeypatch):
    tokens, mask = batch()
    for name in ("bert", "bart"):
        assert PretrainedNetwork(tiny(name), 0).from_the_last(tokens, mask) is None, "earlier tokens feel it"
    network = PretrainedNetwork(tiny("llama"), 0)
    own = network.model.forward
    monkeypatch.setattr(network.model, "forward", lambda position_ids=None, **named: own(**named))
    assert network.from_the_last(tokens, mask) is None, "it is read at the first place, whatever is said"
    monkeypatch.setattr(network.model, "forward", lambda **named: own(**named))
    assert network.from_the_last(tokens, mask) is None


def test_the_last_real_token_is_found_behind_whatever_is_left_out():
    mask = torch.tensor([[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]]).bool()
    assert last_real(mask).tolist() == [1, 3, 1, 3]
