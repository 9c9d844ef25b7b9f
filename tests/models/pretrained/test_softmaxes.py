"""Attention that is found by its softmax, in models that do not attend through transformers' interface."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification

import attest
from attest.core.attention import Sparsemax
from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.experiments.registry import suited
from attest.models.layers_observed import observe_layers
from attest.models.pretrained.admitted import require_as_it_is
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.plain import PlainNetwork
from tests.models.pretrained.tiny import TEXTS, WORDS, batch, tiny

DISENTANGLED = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "layer_norm_eps": 1e-7}
OF_ENCODERS = {
    "deberta-v2": DISENTANGLED | {"share_att_key": True, "position_buckets": 16, "norm_rel_ebd": "layer_norm"},
    "deberta": DISENTANGLED,
    "mpnet": {"pad_token_id": 1, "bos_token_id": 0},
    "roformer": {},
    "big_bird": {"attention_type": "original_full"},
}
GPT = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
OF_DECODERS = {
    "gptj": GPT | {"rotary_dim": 4},
    "bloom": {"n_layer": 2, "n_head": 4},
    "falcon": {},
    "gpt_neo": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
}
SHIFT = Intervention("weights", lambda weights, _mask: weights.roll(1, dims=1))


class ByItsSoftmax(PretrainedNetwork):
    """A model whose attention could be reached by the interface, reached by its softmax all the same."""

    def _count_calls(self, tokens):
        pass


@pytest.mark.parametrize(("name", "settings"), [*OF_ENCODERS.items(), *OF_DECODERS.items()])
def test_probabilities_are_the_models_own_and_every_layer_is_reached(name, settings):
    network = PretrainedNetwork(tiny(name, **settings), settings.get("pad_token_id", 0), 4)
    require_as_it_is(network)
    tokens, mask = batch()
    own = network.itself(tokens, mask)
    torch.testing.assert_close(network(tokens, mask), own, rtol=0, atol=1e-6)
    assert (network.attends_at, network.looks_back) == ((0, 1), name in OF_DECODERS)
    for layer in ("calls.0", "calls.1"):
        with intervene(network, Intervention("weights", SHIFT.value, [layer])):
            assert (network(tokens, mask) - own).abs().max() > 1e-5, "two hundred times rounding"
    assert torch.equal(network(tokens, mask), network(tokens, mask))


@pytest.mark.parametrize("name", ["bert", "roberta", "llama", "gpt2"])
def test_both_connections_see_the_same_weights_bit_for_bit(name):
    model = tiny(name)
    tokens, mask = batch()
    model.set_attn_implementation("eager")
    seen = []
    for kind in (PretrainedNetwork, ByItsSoftmax):
        with recorded(network := kind(model, 0), "weights") as weights:
            network(tokens, mask)
        seen.append(weights)
    assert (PretrainedNetwork(model, 0).attends_at, network.attends_at) == (None, (0, 1))
    assert seen[0].keys() == seen[1].keys()
    real = mask[:, None, :, None].expand(seen[0]["calls.0"].shape)
    assert all(torch.equal(seen[0][layer][real], seen[1][layer][real]) for layer in seen[0])


def test_attention_of_sdpa_is_written_out():
    """It shows keys and values, which a softmax alone does not."""
    model = tiny("bert")
    tokens, mask = batch()
    model.set_attn_implementation("sdpa")
    network = ByItsSoftmax(model, 0)
    with recorded(network, "weights") as weights:
        logits = network(tokens, mask)
    with recorded(interface := PretrainedNetwork(model, 0), "weights") as others:
        torch.testing.assert_close(interface(tokens, mask), logits, rtol=0, atol=1e-6)
    torch.testing.assert_close(weights["calls.1"], others["calls.1"], rtol=0, atol=1e-6)
    assert network.shows_values
    assert not ByItsSoftmax(tiny("bert", attn_implementation="eager"), 0).shows_values


@pytest.mark.parametrize("point", ["keys", "scores", "projection", "weights", "edges"])
def test_an_intervention_does_the_same_by_either_connection(point):
    model, (tokens, mask) = tiny("bert"), batch()
    model.set_attn_implementation("eager")
    order = torch.tensor([[2, 0, 1, 3, 4, 5, 6, 7, 8]]).expand(3, -1)  # of the first three: real in every text
    changes = {
        "keys": lambda keys, _: keys.gather(2, order[:, None, :, None].expand_as(keys)),
        "scores": lambda scores, _: scores * 2,
        "projection": Sparsemax(),
        "weights": SHIFT.value,
        "edges": lambda allowed, _: allowed & (torch.arange(9) != 1),
    }
    found = []
    for kind in (PretrainedNetwork, ByItsSoftmax):
        network = kind(model, 0)
        with intervene(network, Intervention(point, changes[point])):
            found.append(network(tokens, mask))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-5)
    assert (found[0] - PretrainedNetwork(model, 0)(tokens, mask)).abs().max() > 1e-4


def test_what_needs_keys_or_values_is_not_asked_where_they_are_not_seen(refusal):
    encoder, decoder, both = (PretrainedNetwork(tiny(name), 0, 4) for name in ("deberta-v2", "bloom", "bert"))
    asked = [{"E9", "E13"} & {*suited(network)} for network in (encoder, decoder, both)]
    assert asked == [{"E9"}, set(), {"E9", "E13"}]
    tokens, mask = batch()
    with refusal(), recorded(decoder, "keys"):
        decoder(tokens, mask)


class Own(nn.Module):
    """A Transformer as people write them, in torch alone."""

    def __init__(self, at_padding=False, decides="mean", classes=3):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.positions = nn.Embedding(40, 16, padding_idx=0), nn.Embedding(64, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, classes)
        self.at_padding, self.decides = at_padding, decides
        self.eval()

    def forward(self, tokens, mask):
        real = ~mask.bool() if self.at_padding else mask.bool()
        states = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
        states = self.mixed(self.encoder(states, mask=self.hidden(tokens), src_key_padding_mask=~real), real)
        if self.decides == "tokens":
            return self.head(states)
        shown = states[:, 0] if self.decides == "first" else (states * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)
        return self.head(shown)

    def mixed(self, states, real):
        return states

    def hidden(self, tokens):
        return None


class Hiding(Own):
    """Its first token is seen by itself alone."""

    def hidden(self, tokens):
        places = torch.arange(tokens.shape[1])
        return (places == 0) & (places.unsqueeze(-1) > 0)


class WithoutMask(Own):
    """Its padding is the token 0."""

    def forward(self, tokens):
        return super().forward(tokens, tokens != 0)


class PaddingCounts(Own):
    """It attends to padding."""

    def forward(self, tokens):
        return super().forward(tokens, torch.ones_like(tokens))


class Subtracts(Own):
    """It counts with its mask, which is no bool then."""

    def forward(self, tokens, mask):
        return super().forward(tokens, (1 - mask) == 0)


class Routed(Own):
    """A softmax of the shape of attention where a text has as many tokens as there are experts, and one over the tokens."""

    def __init__(self):
        super().__init__()
        self.router, self.experts = nn.Linear(16, 12), nn.Parameter(torch.randn(12, 16))

    def mixed(self, states, real):
        return states + functional.softmax(self.router(states), dim=-1) @ self.experts


class Convolved(Own):
    """Its tokens meet in a convolution, too."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(16, 16, 3, padding=1)

    def mixed(self, states, real):
        return self.convolution((states * real.unsqueeze(-1)).transpose(1, 2)).transpose(1, 2)


class WordsOfOne(nn.Module):
    """It needs more than tokens."""

    def forward(self, tokens, lengths, mask):
        return tokens


@pytest.mark.parametrize(
    "model",
    [
        *(Own(), Own(at_padding=True), Own(decides="first"), Own(decides="tokens")),
        *(WithoutMask(), Routed(), Hiding(), Subtracts()),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.decides}-{model.at_padding}",
)
def test_a_transformer_of_ones_own_is_what_it_is(model):
    network = PlainNetwork(model)
    require_as_it_is(network)
    tokens, mask = batch()
    given = mask.long() if isinstance(model, Subtracts) else ~mask if model.at_padding else mask
    own = model(tokens) if isinstance(model, WithoutMask) else model(tokens, given)
    real = mask if network.kind == TAGS else slice(None)
    four = network.decode(network.encode(tokens, mask), mask.float())
    for found in (network(tokens, mask), network.itself(tokens, mask), four):
        torch.testing.assert_close(found[real], own[real], rtol=0, atol=1e-5)
    assert (network.kind == TAGS, len(network.calls)) == (model.decides == "tokens", 2)
    assert network.attends_everywhere is not isinstance(model, Hiding)
    assert network.decides_by == ("first" if model.decides == "first" else "all")
    assert {"E9", "E13"} <= {*suited(network)}
    layers = observe_layers(network, None, tokens, mask)
    sums = layers.attention["calls.1"].sum(dim=-1)[mask.unsqueeze(1).expand(-1, 4, -1)]
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-6)


def test_a_token_that_none_attends_to_is_padding_of_a_module_without_a_mask():
    network, (tokens, mask) = PlainNetwork(WithoutMask()), batch()
    left = mask & (torch.arange(mask.shape[-1]) != 2)
    found = network.decode(network.encode(tokens, mask), left.float())
    torch.testing.assert_close(found, network.model(tokens.where(left, 0)), rtol=0, atol=1e-5)


REFUSED = [
    (PaddingCounts(), "decides differently when a text is padded"),
    (Convolved(), "mixes tokens outside its attention"),
    (nn.Linear(3, 3), "forward.tokens, mask."),
    (WordsOfOne(), "needs lengths beside the tokens"),
    (nn.Sequential(nn.Embedding(9, 4), nn.Flatten(1)), "of 24 and 16 classes"),
    (nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 3)), "none of its softmax calls returns, for each token, attention"),
]


def test_a_model_that_turns_its_batch_round_is_refused(refusal):
    """XLNet looks tokens up as (T, B), and decides at the last place of a row, which is padding where others are longer."""
    small = {"d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 24, "vocab_size": 40, "pad_token_id": 0}
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model("xlnet", **small)).eval()
    with refusal():
        require_as_it_is(PretrainedNetwork(model, 0, 4))


@pytest.mark.parametrize(("model", "said"), REFUSED)
def test_a_module_that_is_none_is_refused_in_a_sentence(model, said):
    tokens, mask = batch()
    with pytest.raises(AttestError, match=said):
        attest.trial(model, [{"token_ids": tokens, "mask": mask}], ["E2"], progress=False)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(
    "model",
    [Own(), WithoutMask(decides="first")],
    ids=lambda model: f"{type(model).__name__}-{model.decides}-{model.at_padding}",
)
def test_a_trial_of_ones_own_transformer_needs_no_four_steps(model):
    tokens, mask = batch((9, 4, 7, 3))
    given = {"token_ids": tokens, "mask": mask, "label": torch.tensor([0, 1, 2, 0])}
    tried = attest.trial(model, [given], "all", progress=False)
    own = (model(tokens) if isinstance(model, WithoutMask) else model(tokens, mask)).softmax(dim=-1).detach()
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy())
    torch.testing.assert_close(found.double(), own.double(), rtol=0, atol=1e-5)
    assert {"E1", "E2", "E3", "E8", "E9", "E13", "E14", "E15"} <= set(tried.experiments)


def test_a_trial_of_a_deberta(tokenizer):
    model = tiny("deberta-v2", vocab_size=len(WORDS), **OF_ENCODERS["deberta-v2"])
    quick = {"E2": {"permutations": 2}, "E3": {"steps": 2, "texts": 2}, "E8": {}, "E9": {"draws": 2}, "E14": {"texts": 3}}
    tried = attest.trial(model, TEXTS, quick, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1], progress=False)
    with torch.no_grad():
        own = torch.stack([model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(-1) for text in TEXTS]).double()
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy()).double()
    torch.testing.assert_close(found, own, rtol=0, atol=1e-5)
    assert 0 < tried.summary["E9/tvd_shuffled/mean"] < 1
    assert 0 < tried.summary["E2/tvd_median_layer2/mean"] < 1
