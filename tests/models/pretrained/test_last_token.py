"""The last token read alone says what the whole text says, at a fraction of the work; elsewhere it is not offered."""

import pytest
import torch

from attest.core.attention import Sparsemax
from attest.core.attention.interventions import Intervention, intervene
from attest.models.pretrained.calls import last_real
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import DECODERS, batch, tiny


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
    read, _ = [], network.blocks  # which are looked for once
    network.model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: read.append(inputs[0].numel()))
    again = network.from_the_last(tokens, mask)
    assert read == [27, 3], "the clean pass, and the last tokens to see that they say the same"
    again(torch.tensor([0, 0, 2, 1]))
    assert read[2:] == [4]


@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_the_last_token_begins_at_the_first_tampered_layer(name):
    """Cut as a whole pass cuts it, in the last layer and in both."""
    network, (tokens, mask) = PretrainedNetwork(tiny(name), 0), batch()
    again, rows, run = network.from_the_last(tokens, mask), torch.tensor([2, 0, 0, 1]), []
    for place, block in enumerate(network.blocks.values()):
        next(block.children()).register_forward_hook(lambda *_, place=place: run.append(place))
    last = last_real(mask)

    def cut(allowed, mask):
        left, row = allowed.clone(), torch.arange(len(allowed))
        left[row, :, 0 if allowed.shape[-2] == 1 else last, 1:3] = False
        return left

    for layers, computed in ((["calls.1"], [1]), (["calls.0", "calls.1"], [0, 1])):
        with intervene(network, Intervention("edges", cut, layers)):
            whole = network(tokens, mask)
            run.clear()
            torch.testing.assert_close(again(rows), whole[rows], rtol=0, atol=2e-6)
        assert run == computed


@torch.no_grad()
def test_layers_are_not_looked_for_while_somebody_tampers():
    """With tensors that fit these texts alone, for example."""
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()

    def fits(keys, mask):
        assert len(keys) == 3
        return keys

    with intervene(network, Intervention("keys", fits)):
        again = network.from_the_last(tokens, mask)
        torch.testing.assert_close(again(torch.arange(3)), network(tokens, mask), rtol=1e-5, atol=2e-6)


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
