"""The seam into models of transformers: nothing moves unless it is replaced, and every place is reached."""

import pytest
import torch

from attest.core.attention import Sparsemax
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.core.errors import AttestError
from attest.experiments.layers import clean_keys, replacing_keys
from attest.models.inputs import Inputs
from attest.models.pretrained.attention import NAME, attending_through
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import CALLS, DECODERS, ENCODERS, batch, tiny

EVERY = [*ENCODERS, *DECODERS, "bart"]


@pytest.fixture(params=EVERY)
def network(request):
    made = PretrainedNetwork(tiny(request.param), 0)
    made.named = request.param
    return made


@torch.no_grad()
def test_untouched_logits_are_the_models_own_bit_for_bit(network):
    tokens, mask = batch()
    before = network.model.config._attn_implementation
    ours = network(tokens, mask)
    network.model.set_attn_implementation("eager")
    own = network.model(input_ids=tokens, attention_mask=mask.long()).logits
    assert torch.equal(ours, own)
    network.model.set_attn_implementation(before)
    with recorded(network, "weights") as weights, recorded(network, "scores"), recorded(network, "keys"):
        assert torch.equal(network(tokens, mask), ours), "looking changes nothing"
    assert len(weights) == CALLS.get(network.named, 2)
    assert {name: layer.heads for name, layer in attending(network).items()} == dict.fromkeys(weights, 4)


@torch.no_grad()
def test_padding_moves_nothing(network):
    tokens, mask = batch()
    together = network(tokens, mask)
    for row, length in enumerate(mask.sum(dim=-1).tolist()):
        alone = network(tokens[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(alone[0], together[row], rtol=1e-5, atol=2e-6)


@torch.no_grad()
def test_scores_give_the_weights_back(network):
    """Through the model's own mask, window, groups and sinks."""
    tokens, mask = batch()
    with recorded(network, "weights") as own, recorded(network, "scores") as scores:
        network(tokens, mask)
    again = [Intervention("scores", lambda computed, mask: computed.clone())]
    with intervene(network, *again), recorded(network, "weights") as back:
        network(tokens, mask)
    rows = mask[:, None, :, None]
    for name, weights in own.items():
        assert torch.equal(scores[name].exp() > 1e-30, weights > 1e-30)
        assert ((back[name] - weights) * rows).abs().max() <= 1e-6


@torch.no_grad()
def test_every_place_is_reached(network):
    tokens, mask = batch()
    clean = network(tokens, mask)
    replacements = {
        "keys": lambda keys, mask: keys.flip(-2),
        "values": lambda values, mask: values.flip(-1),
        "scores": lambda scores, mask: 3 * scores,
        "projection": Sparsemax(),
    }
    for layer in attending(network):
        for point, value in replacements.items():
            with intervene(network, Intervention(point, value, [layer])):
                assert not torch.equal(network(tokens, mask), clean), (layer, point)
    assert torch.equal(network(tokens, mask), clean), "and all is as it was"


def test_gradients_reach_weights_and_keys(network):
    tokens, mask = batch()
    with recorded(network, "weights") as weights, recorded(network, "keys") as keys:
        logits = network(tokens, mask)
    wanted = [*weights.values(), *keys.values()]
    assert all(gradient.abs().sum() > 0 for gradient in torch.autograd.grad(logits.square().sum(), wanted))


@pytest.mark.parametrize("name", ENCODERS)
@torch.no_grad()
def test_weights_can_be_replaced_where_tokens_attend_everywhere(name):
    network, (tokens, mask) = PretrainedNetwork(tiny(name), 0), batch()
    with recorded(network, "weights") as own:
        clean = network(tokens, mask)
    assert network.attends_everywhere
    for layer, weights in own.items():
        with intervene(network, Intervention("weights", weights, [layer])):
            torch.testing.assert_close(network(tokens, mask), clean)
        with intervene(network, Intervention("weights", weights.flip(1), [layer])):
            assert not torch.equal(network(tokens, mask), clean)


@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_a_decoder_may_not_look_ahead(name, refusal):
    network, (tokens, mask) = PretrainedNetwork(tiny(name), 0), batch()
    assert not network.attends_everywhere
    with recorded(network, "weights") as own:
        network(tokens, mask)
    assert all(weights[0, :, 0, 1:].abs().max() == 0 for weights in own.values()), "supports differ in length"
    ahead = Intervention("weights", lambda weights, mask: weights.flip(-1))
    with intervene(network, ahead), refusal():
        network(tokens, mask)
    erased = Intervention("weights", lambda weights, mask: weights.index_fill(-1, torch.tensor([1]), 0))
    with intervene(network, erased):
        assert network(tokens, mask).isfinite().all(), "within what it may see, anything goes"


@torch.no_grad()
def test_a_window_is_seen_when_a_text_is_longer_than_it():
    network = PretrainedNetwork(tiny("modernbert", local_attention=12), 0)
    assert network.attends_everywhere, "as far as the short text shows that it was looked at with"
    network(*batch((30, 12)))
    assert [call.everywhere for call in network.calls] == [True, False]


@torch.no_grad()
def test_keys_of_groups_are_shuffled_as_those_of_heads():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()
    layers = list(attending(network))
    keys = clean_keys(network, layers, Inputs(tokens, mask))
    assert keys.shape == (3, 2, 9, 8), "two groups of four dimensions"
    clean = network(tokens, mask)
    with intervene(network, *replacing_keys(network, layers, keys)):
        assert torch.equal(network(tokens, mask), clean)


@torch.no_grad()
def test_a_module_that_is_called_in_every_layer_is_tampered_with_in_one():
    network, (tokens, mask) = PretrainedNetwork(tiny("albert"), 0), batch()
    with recorded(network, "weights") as clean:
        network(tokens, mask)
    first, second = attending(network)
    with intervene(network, Intervention("projection", Sparsemax(), [second])), recorded(network, "weights") as seen:
        network(tokens, mask)
    assert torch.equal(seen[first], clean[first])
    assert not torch.equal(seen[second], clean[second])


@torch.no_grad()
def test_what_a_sink_keeps_is_a_column_that_no_projection_loses():
    network, (tokens, mask) = PretrainedNetwork(tiny("gpt_oss"), 0), batch()
    with recorded(network, "weights") as own:
        network(tokens, mask)
    assert all(weights.sum(dim=-1).max() < 1 for weights in own.values())
    with intervene(network, Intervention("projection", Sparsemax())), recorded(network, "weights") as sparse:
        assert network(tokens, mask).isfinite().all()
    assert all(weights.sum(dim=-1).max() <= 1 + 1e-6 for weights in sparse.values())


@torch.no_grad()
def test_two_models_do_not_hear_of_one_another():
    one, other = (PretrainedNetwork(tiny("bert", num_labels=labels), 0) for labels in (2, 3))
    tokens, mask = batch()
    clean = other(tokens, mask)
    with intervene(one, Intervention("projection", Sparsemax())):
        assert torch.equal(other(tokens, mask), clean)
        assert not torch.equal(one(tokens, mask), PretrainedNetwork(one.model, 0)(tokens, mask))


def test_the_model_is_as_it_was_also_after_an_exception():
    model = tiny("bert")
    before = model.config._attn_implementation
    network = PretrainedNetwork(model.train(), 0)
    assert (model.config._attn_implementation, model.training) == (before, True)
    tokens, mask = batch()

    def fail(weights, mask):
        assert model.config._attn_implementation == NAME
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"), intervene(network, Intervention("weights", fail)):
        network(tokens, mask)
    assert model.config._attn_implementation == before
    model.eval()
    own = model(input_ids=tokens, attention_mask=mask.long()).logits
    torch.testing.assert_close(network(tokens, mask), own, msg="and the library's own attention runs again")


def test_a_model_whose_attention_is_out_of_reach_is_refused_by_name(refusal):
    with refusal():
        PretrainedNetwork(tiny("longformer", attention_window=[8, 8]), 0)


@pytest.mark.parametrize(("name", "decides"), [("bert", "first"), ("llama", "last"), ("bart", "last")])
def test_where_a_model_decides_is_found_by_its_gradients(name, decides):
    network = PretrainedNetwork(tiny(name).requires_grad_(False), 0)
    assert network.decides_by == decides
    assert not any(parameter.requires_grad for parameter in network.parameters())
    mask = batch()[1]
    begins = network.deciding(mask)
    torch.testing.assert_close(begins.sum(dim=-1), torch.ones(3))
    places = {"first": [0, 0, 0], "last": [4, 8, 6]}
    assert begins.argmax(dim=-1).tolist() == places[decides]


def test_a_model_that_pools_by_a_mean_decides_everywhere():
    assert PretrainedNetwork(tiny("modernbert", classifier_pooling="mean"), 0).decides_by == "all"


@pytest.mark.parametrize("name", [name for name in EVERY if name != "bart"])
@torch.no_grad()
def test_from_embeddings_on_it_decides_as_from_tokens(name):
    network, (tokens, mask) = PretrainedNetwork(tiny(name), 0), batch()
    weights = network.project(network.score(network.encode(tokens, mask), mask), mask)
    decided = network.decode(network.encode(tokens, mask), weights)
    torch.testing.assert_close(decided, network(tokens, mask), rtol=1e-5, atol=2e-6)


@torch.no_grad()
def test_tokens_are_classified_too():
    network, (tokens, mask) = PretrainedNetwork(tiny("bert", tokens=True), 0), batch()
    assert network(tokens, mask).shape == (3, 9, 3)
    assert network.decides_by == "all"


def test_a_model_that_was_set_to_kernels_without_weights_shows_them():
    """Its own ``output_attentions`` gives nothing under SDPA, and says nothing."""
    model = tiny("bert")
    model.set_attn_implementation("sdpa")
    tokens, mask = batch()
    network = PretrainedNetwork(model, 0)
    with recorded(network, "weights") as weights:
        logits = network(tokens, mask)
    assert [rows.shape for rows in weights.values()] == [(3, 4, 9, 9)] * 2
    assert model.config._attn_implementation == "sdpa"
    kernels = model(tokens, attention_mask=mask.long()).logits
    torch.testing.assert_close(logits, kernels, atol=1e-5, rtol=0)


def test_texts_packed_into_one_row_are_refused(refusal):
    model = tiny("llama")
    network, tokens = PretrainedNetwork(model, 0), torch.randint(5, 40, (1, 8))
    network.current.begin(torch.ones_like(tokens, dtype=torch.bool))
    starts = torch.tensor([0, 3, 8], dtype=torch.int32)
    packed = {"cu_seq_lens_q": starts, "cu_seq_lens_k": starts, "max_length_q": 5, "max_length_k": 5}
    positions = torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4]])
    with attending_through(model, network.current), refusal():
        model(tokens, position_ids=positions, use_cache=False, **packed)


def test_a_model_that_is_spread_over_devices_by_its_heads_is_refused(refusal):
    model = tiny("bert")
    model._tp_size = 2
    with refusal():
        PretrainedNetwork(model, 0)


def test_a_refusal_in_the_first_pass_keeps_its_own_words(monkeypatch):
    def refuse(*_):
        raise AttestError("its own words")

    monkeypatch.setattr(PretrainedNetwork, "_count_calls", refuse)
    with pytest.raises(AttestError, match=r"^its own words$"):
        PretrainedNetwork(tiny("bert"), 0)
