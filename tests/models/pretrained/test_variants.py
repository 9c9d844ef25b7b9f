"""Variants of texts are decided as each would be alone, with little padding, and by a decoder from their first change on."""

import pytest
import torch

from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.experiments.erasure import about_one_token, operators
from attest.experiments.erasure.operators import attention, delete, mask_tokens
from attest.experiments.importance import predictions_without_each
from attest.experiments.layers import observe_layers
from attest.models import variants
from attest.models.observation import observe
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import PromptedNetwork
from tests.experiments.networks import pooling_classifier, ragged_batch
from tests.fake_device import DEVICE, fake_device
from tests.models.pretrained.tiny import DECODERS, batch, tiny

CPU = torch.device("cpu")
LENGTHS = (9, 5, 1, 12)
BY_SDPA = ("bert", "llama", "gpt2", "mistral", "phi3", "gpt_neox", "qwen3")


def observed(network):
    tokens, mask = batch(LENGTHS)
    return observe(network, torch.arange(len(LENGTHS)), tokens, mask)


def network_of(name, **settings):
    return PretrainedNetwork(tiny(name, **settings), 0, masked=3)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("least", [1, variants.LEAST_TOKENS])
@pytest.mark.parametrize("network", [*BY_SDPA, "deberta-v2", "mistral with a window", "prompted"])
@torch.no_grad()
def test_each_variant_is_decided_as_it_is_alone(network, least, monkeypatch):
    """However many share a pass, and whatever was computed before."""
    monkeypatch.setattr(variants, "LEAST_TOKENS", least)
    if network == "prompted":
        network, answers = PromptedNetwork(tiny("llama", speaks=True), 0, [5, 6], masked=3), [5, 6]
    else:
        settings = {"sliding_window": 4} if network.endswith("window") else {}
        network, answers = network_of(network.split()[0], **settings), None
    seen = observed(network)
    torch.manual_seed(0)
    kept = (torch.rand(len(LENGTHS), 8, max(LENGTHS)) > 0.4) & seen.mask.unsqueeze(1)
    kept[..., 0] = True  # where an encoder decides
    found = {operator: operator(seen, kept) for operator in (delete, mask_tokens, attention)}
    without = predictions_without_each(seen)

    def alone(tokens, mask=None):
        mask = torch.ones_like(tokens) if mask is None else mask.long()
        logits = network.model(input_ids=tokens.unsqueeze(0), attention_mask=mask.unsqueeze(0)).logits
        return (logits[0] if answers is None else logits[0, -1, answers]).softmax(dim=-1)

    for row, length in enumerate(LENGTHS):
        text, predicted = seen.tokens[row, :length], seen.predicted[row]
        for place, left in enumerate(kept[row, :, :length]):
            apart = [
                alone(text[left])[predicted] - found[delete][row, place],
                alone(text.where(left, 3))[predicted] - found[mask_tokens][row, place],
            ]
            if left[-1]:  # where a decoder decides
                apart.append(alone(text, left)[predicted] - found[attention][row, place])
            assert torch.stack(apart).abs().max() < 1e-5
        for place in range(length if length > 1 else 0):
            others = torch.arange(length) != place
            torch.testing.assert_close(without[row, place], alone(text[others]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_a_decoder_reads_a_variant_from_its_first_change_on(name, monkeypatch):
    monkeypatch.setattr(variants, "LEAST_TOKENS", 1)
    network = network_of(name)
    seen, read = observed(network), []
    network.model.get_input_embeddings().register_forward_hook(lambda module, inputs, output: read.append(inputs[0].numel()))
    found = predictions_without_each(seen)
    needed = sum(length - 1 - place for length in LENGTHS for place in range(length - 1)) + sum(LENGTHS)
    whole = sum(length * (length - 1) for length in LENGTHS)
    clean, variant = len(LENGTHS) * max(LENGTHS), max(LENGTHS)  # the pass that is remembered; and one, to see that it is right
    assert sum(read) <= needed + clean + variant < whole
    monkeypatch.setattr(PretrainedNetwork, "goes_on", False)
    torch.testing.assert_close(predictions_without_each(seen), found, rtol=0, atol=1e-5)


def test_a_decoder_that_decides_otherwise_after_a_prefix_reads_whole_variants(monkeypatch):
    seen = observed(network_of("llama"))
    right = predictions_without_each(seen)
    monkeypatch.setattr(PretrainedNetwork, "going_on", lambda self, memory, texts, *_: torch.zeros(len(texts), 3))
    torch.testing.assert_close(predictions_without_each(seen), right, rtol=0, atol=1e-5)


def test_a_decoder_under_an_intervention_reads_whole_variants():
    network = network_of("llama")
    seen = observed(network)
    free = predictions_without_each(seen)

    def first_alone(weights, _mask):
        return torch.zeros_like(weights).index_fill_(-1, torch.tensor([0]), 1)

    with intervene(network, Intervention("weights", first_alone)):
        assert not network.goes_on
        assert not torch.allclose(predictions_without_each(observed(network)), free, atol=1e-3)
    assert network.goes_on


def test_little_of_a_pass_is_padding():
    torch.manual_seed(0)
    lengths = torch.randint(5, 25, (20_000,))
    begins = (lengths * torch.rand(20_000)).long()
    for begin in (torch.zeros_like(lengths), begins):
        order = (lengths * 100 + begin).argsort(descending=True)
        length, first = lengths[order], begin[order]
        pieces = list(variants._pieces(length, first, CPU))
        assert [place for piece in pieces for place in range(piece.start, piece.stop)] == list(range(20_000))
        columns = [(piece.stop - piece.start) * int(length[piece].max() - first[piece].min()) for piece in pieces]
        new = [int((length[piece] - first[piece]).sum()) for piece in pieces]
        assert sum(new) >= 0.95 * sum(columns)
        large = [(mine, all_of_them) for mine, all_of_them in zip(new, columns, strict=True) if all_of_them > 2000]
        assert large
        assert all(mine >= (1 - variants.PADDING) * all_of_them for mine, all_of_them in large)


def test_an_accelerator_reads_short_variants_of_all_lengths_in_one_pass():
    lengths = torch.arange(20, 4, -1).repeat_interleave(20)
    assert list(variants._pieces(lengths, torch.zeros_like(lengths), DEVICE)) == [slice(0, 320)]
    assert len(list(variants._pieces(lengths, torch.zeros_like(lengths), CPU))) > 5


def test_an_accelerator_is_waited_for_once_where_all_variants_are_read():
    with fake_device() as device:
        network, (ids, tokens, mask) = pooling_classifier().to(DEVICE), ragged_batch([9, 1, 12, 6])
        seen = observe(network, ids.to(DEVICE), tokens.to(DEVICE), mask.to(DEVICE))
        device.forget()
        variants.read_each(seen, torch.arange(4, device=DEVICE), seen.texts)
        assert device.syncs.total() == 1


def test_an_untouched_model_reads_by_its_own_attention_until_something_intervenes():
    network = network_of("bert")
    tokens, mask = batch(LENGTHS)

    def uniform(weights, _mask):
        return torch.full_like(weights, 1 / weights.shape[-1]) * mask[:, None, None]

    with variants.untouched(network), recorded(network, "weights") as seen:
        clean = network(tokens, mask)
        assert seen, "what records them intervenes"
    with variants.untouched(network), intervene(network, Intervention("weights", uniform)):
        assert not torch.allclose(network(tokens, mask), clean, atol=1e-3)
    implementation, used = network.model.config._attn_implementation, []
    network.model.bert.encoder.layer[0].register_forward_hook(
        lambda *_: used.append(network.model.config._attn_implementation)
    )
    with variants.untouched(network):
        torch.testing.assert_close(network(tokens, mask), clean, rtol=0, atol=1e-6)
    network(tokens, mask)
    assert used == [implementation, "attest"]


def typed(name, ids, types):
    tokens = torch.tensor([ids])
    network = PretrainedNetwork(tiny(name, vocab_size=40), 0, masked=3, typed=True)
    return observe(network, None, tokens, tokens > 0, beside={"token_type_ids": torch.tensor([types])})


def test_a_decoder_reads_anew_from_a_token_of_another_type(monkeypatch):
    """Without its second token, a text has the same token there, but of the second type."""
    monkeypatch.setattr(variants, "LEAST_TOKENS", 1)
    seen = typed("gpt2", [5, 7, 7, 8, 9], [0, 0, 1, 1, 1])
    assert seen.network.goes_on
    found = predictions_without_each(seen)
    monkeypatch.setattr(PretrainedNetwork, "goes_on", False)
    torch.testing.assert_close(predictions_without_each(seen), found, rtol=0, atol=1e-6)


def test_variants_are_read_in_the_order_of_their_tokens_with_types(monkeypatch):
    """The last digits of a prediction depend on what is read with it; a token of the first type comes before the others."""
    seen, read = typed("bert", [2, 9, 5, 3], [0, 0, 1, 1]), []
    monkeypatch.setattr(
        operators, "read_each", lambda seen, rows, each, in_place: read.append(each) or variants.read_each(seen, rows, each)
    )
    kept = torch.tensor([[[True, False, True, True], [True, True, False, True]]])
    delete(seen, kept)
    assert read[0].tokens.tolist() == [[2, 9, 3, 0], [2, 5, 3, 0]]


@torch.no_grad()
@pytest.mark.parametrize("operator", [delete, mask_tokens])
def test_tokens_of_a_tagger_keep_their_type_where_others_are_erased(operator):
    tokens, types = torch.tensor([[2, 9, 5, 7]]), torch.tensor([[0, 0, 1, 1]])
    model = tiny("bert", tokens=True, vocab_size=40)
    torch.nn.init.normal_(model.bert.embeddings.token_type_embeddings.weight, std=3)
    network = PretrainedNetwork(model, 0, masked=3, typed=True)
    seen = observe_layers(network, torch.arange(1), tokens, tokens > 0, beside={"token_type_ids": types})
    asked, _ = about_one_token(seen, 0, torch.tensor([3]))
    left = torch.tensor([True, True, False, True])
    read = (tokens[:, left], types[:, left]) if operator is delete else (tokens.where(left, 3), types)
    expected = model(input_ids=read[0], token_type_ids=read[1]).logits[0, -1].softmax(dim=-1)[asked.predicted]
    torch.testing.assert_close(operator(asked, left[None, None])[0], expected, rtol=0, atol=1e-6)
