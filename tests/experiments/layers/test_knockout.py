"""E16 cuts what a mask would cut, of the deciding token alone, in the layers that it says and at no other time."""

import math

import pytest
import torch

import attest
from attest.core.attention.interventions import Intervention, attending, intervene
from attest.core.errors import AttestError
from attest.experiments.layers import observe_layers
from attest.experiments.layers.knockout import SPEC, knockout
from attest.models.networks import TransformerClassifier
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import PromptedNetwork
from tests.models.pretrained.planted import trained
from tests.models.pretrained.speaking import ANSWERS, TEMPLATE
from tests.models.pretrained.tiny import DECODERS, batch, tiny

WINDOWED = {"llama": {}, "mistral": {"sliding_window": 4}, "gemma2": {"sliding_window": 4}, "gpt2": {}}
"""Grouped queries; a window in every layer, and in every second one; neither."""
IDS = torch.tensor([7, 3, 11])


@pytest.fixture(scope="session")
def planted():
    return trained()


def observed(network, tokens, mask):
    return observe_layers(network, IDS[: len(tokens)], tokens, mask)


def cut_by_mask(model, tokens, places, layers):
    """Logits of one text whose last token may not attend to some places: written into the mask of each layer by hand."""
    handles = []
    for number, layer in enumerate(getattr(model.base_model, "layers", None) or model.base_model.h):
        attention = getattr(layer, "self_attn", None) or layer.attn

        def cut(_module, arguments, named):
            mask = named["attention_mask"].clone()
            mask[:, :, -1, places] = torch.finfo(mask.dtype).min
            return arguments, named | {"attention_mask": mask}

        if number in layers:
            handles.append(attention.register_forward_pre_hook(cut, with_kwargs=True))
    model.set_attn_implementation("eager")
    try:
        return model(input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False).logits
    finally:
        for handle in handles:
            handle.remove()


def lead(logits, predicted):
    return logits[predicted] - max(logit for number, logit in enumerate(logits) if number != predicted)


@pytest.mark.parametrize("whole", [False, True], ids=["last token alone", "whole texts"])
@pytest.mark.parametrize("name", WINDOWED)
@torch.no_grad()
def test_a_knockout_is_the_same_cut_made_in_the_mask(name, whole, monkeypatch):
    """Of stated spans, in all layers and in each, text by text without padding; and both ways of reading the same."""
    network, (tokens, mask) = PretrainedNetwork(tiny(name, **WINDOWED[name]), 0), batch((6, 9, 7))
    seen = observed(network, tokens, mask)
    if whole:
        monkeypatch.setattr(network, "from_the_last", lambda tokens, mask: None)
    else:
        assert network.from_the_last(tokens, mask) is not None
    spans = {7: [3], 3: [6, 7], 11: [1, 4, 5]}
    columns = knockout(seen, 0, draws=2, spans=spans)
    for row, (identity, places) in enumerate(spans.items()):
        text = tokens[row : row + 1, mask[row]]
        predicted = int(seen.predicted[row])
        for suffix, layers in (("", (0, 1)), ("_layers1to1", (0,)), ("_layers2to2", (1,))):
            for kind, cut in (("", places), ("_sink", [0])):
                expected = cut_by_mask(network.model, text, cut, layers)[0]
                drop = lead(seen.logits[row], predicted) - lead(expected, predicted)
                assert columns[f"drop{kind}{suffix}"][row] == pytest.approx(float(drop), abs=1e-5), (identity, kind, suffix)
                assert columns[f"flipped{kind}{suffix}"][row] == float(expected.argmax() != predicted)
    assert columns["drop"].abs().min() > 1e-3, "and something was cut"


@torch.no_grad()
def test_a_four_dimensional_mask_cuts_the_same():
    network, (tokens, _) = PretrainedNetwork(tiny("llama"), 0), batch((8,))
    seen = observed(network, tokens, torch.ones_like(tokens, dtype=torch.bool))
    columns = knockout(seen, 0, draws=1, spans={7: [2, 5]})
    edges = torch.ones(8, 8).tril()
    edges[-1, [2, 5]] = 0
    network.model.set_attn_implementation("eager")
    mask = torch.where(edges[None, None] > 0, 0.0, torch.finfo(torch.float32).min)
    hidden = network.model.model(input_ids=tokens, attention_mask=mask, use_cache=False).last_hidden_state
    expected = network.model.score(hidden)[0, -1]
    predicted = int(seen.predicted[0])
    drop = lead(seen.logits[0], predicted) - lead(expected, predicted)
    assert columns["drop"][0] == pytest.approx(float(drop), abs=1e-5)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_the_last_token_alone_says_what_whole_texts_say(name, monkeypatch):
    for network in (PretrainedNetwork(tiny(name), 0), PromptedNetwork(tiny(name, speaks=True), 0, [4, 9, 7])):
        seen = observed(network, *batch())
        alone = knockout(seen, 5, draws=3)
        assert network.from_the_last(*batch()) is not None
        monkeypatch.setattr(network, "from_the_last", lambda tokens, mask: None)
        for column, values in knockout(seen, 5, draws=3).items():
            torch.testing.assert_close(alone[column], values, rtol=1e-4, atol=1e-5, msg=column)


@torch.no_grad()
def test_the_most_attended_tokens_are_cut_and_random_sets_are_others_of_the_same_size(monkeypatch):
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch((14, 9, 7))
    cuts = []

    def looking(tokens, mask):
        def again(rows):
            layer = next(iter(attending(network).values()))
            allowed = torch.ones(len(rows), 1, 1, tokens.shape[1], dtype=torch.bool)
            cuts.append((rows, ~layer.hook("edges", allowed, mask)[:, 0, 0]))
            return torch.zeros(len(rows), 3)

        return again

    monkeypatch.setattr(network, "from_the_last", looking)
    seen = observed(network, tokens, mask)
    knockout(seen, 0, share=0.2, draws=4)
    rows, cut = cuts[0]
    attention = torch.stack([*seen.attention.values()]).mean(dim=(0, 2))
    for row, (length, size) in enumerate(((14, 3), (9, 2), (7, 1))):
        chosen, first, *random = cut[rows == row]
        between = attention[row, length - 1, 1 : length - 1]
        assert chosen.nonzero().flatten().tolist() == sorted((between.topk(size).indices + 1).tolist())
        assert first.nonzero().flatten().tolist() == [0]
        assert all(int(each.sum()) == size for each in random)
        assert not any((each & chosen).any() or each[0] or each[length - 1 :].any() for each in random)
        assert len({tuple(each.tolist()) for each in random}) > 1


@torch.no_grad()
def test_sinks_are_the_deciding_tokens_weights_on_the_first():
    network, (tokens, mask) = PretrainedNetwork(tiny("qwen3"), 0), batch()
    seen = observed(network, tokens, mask)
    columns = knockout(seen, 0, draws=1)
    second = seen.attention["calls.1"][[0, 1, 2], 3, [4, 8, 6], 0]
    torch.testing.assert_close(columns["sink_layer2_head4"], second)
    every = torch.stack([weights[[0, 1, 2], :, [4, 8, 6], 0] for weights in seen.attention.values()])
    torch.testing.assert_close(columns["sink"], every.mean(dim=(0, 2)))
    torch.testing.assert_close(columns["sink_layer1"], every[0].mean(dim=-1))


@torch.no_grad()
def test_every_column_is_described_and_in_its_range():
    network = PretrainedNetwork(tiny("llama"), 0)
    columns = knockout(observed(network, *batch()), 0, draws=3)
    for name, column in columns.items():
        described = SPEC.column(name)
        assert described is not None, name
        assert described.range[0] <= column.min() <= column.max() <= described.range[1], name
    of_classes = [column for column in SPEC.columns if not column.name.startswith("moved")]
    assert not [column.name for column in of_classes if not any(column.fits(name) for name in columns)]


@torch.no_grad()
def test_what_a_text_gets_depends_on_no_other():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch((12, 9, 7))
    together = knockout(observed(network, tokens, mask), 3, draws=3)
    alone = knockout(observe_layers(network, IDS[1:2], tokens[1:2, :9], mask[1:2, :9]), 3, draws=3)
    for name, column in alone.items():
        torch.testing.assert_close(column[0], together[name][1], rtol=1e-4, atol=1e-5, equal_nan=True, msg=name)


@torch.no_grad()
def test_texts_that_are_too_short_are_not_measured():
    tokens, mask = batch((2, 3, 9))
    columns = knockout(observed(PretrainedNetwork(tiny("llama"), 0), tokens, mask), 0, draws=2)
    assert columns["drop"].isnan().tolist() == [True, False, False]
    assert columns["won"].isnan().tolist() == [True, True, False], "one token is cut, and there is no other"
    assert columns["drop_sink"].isfinite().all()


def test_windows_part_the_layers():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama", num_hidden_layers=5), 0), batch()
    seen = observed(network, tokens, mask)
    for width, windows in ((0, ["1to2", "3to4", "5to5"]), (3, ["1to3", "4to5"]), (5, [])):
        names = knockout(seen, 0, draws=1, width=width)
        assert [name.removeprefix("drop_layers") for name in names if name.startswith("drop_layers")] == windows


def test_nothing_stays_cut_also_after_an_exception(monkeypatch):
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()
    seen = observed(network, tokens, mask)
    clean = network(tokens, mask).detach()
    before = network.model.config._attn_implementation

    def fails(tokens, mask):
        def again(rows):
            assert all(call.replacements for call in network.calls)
            raise RuntimeError("in the middle")

        return again

    with monkeypatch.context() as patched:
        patched.setattr(network, "from_the_last", fails)
        with pytest.raises(RuntimeError, match="in the middle"):
            knockout(seen, 0, draws=1)
    again = network.from_the_last(tokens, mask)
    failing = Intervention("edges", lambda allowed, mask: 1 // 0)
    with pytest.raises(ZeroDivisionError), intervene(network, failing):
        again(torch.tensor([0]))
    assert all(call.memory is None and not call.replacements for call in network.calls)
    assert network.model.config._attn_implementation == before
    assert torch.equal(network(tokens, mask), clean)


@torch.no_grad()
def test_a_token_keeps_an_edge():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch()
    nothing = Intervention("edges", lambda allowed, mask: torch.zeros_like(allowed))
    with pytest.raises(AttestError, match="a token may not attend to any token"), intervene(network, nothing):
        network(tokens, mask)
    with intervene(network, Intervention("edges", lambda allowed, mask: torch.ones_like(allowed))):
        added = network(tokens, mask)
    assert torch.equal(added, network(tokens, mask)), "and none is given one"


@pytest.mark.parametrize(
    "settings",
    [
        {"share": 0},
        {"draws": 0},
        {"width": -1},
        {"spans": {7: [0]}},
        {"spans": {7: [4]}},
        {"spans": {7: [99]}},
    ],
)
def test_settings_out_of_range_are_refused_in_a_sentence(settings, refusal):
    with refusal():
        knockout(observed(PretrainedNetwork(tiny("llama"), 0), *batch()), 0, **settings)


def test_what_is_no_decoder_is_refused():
    for network, name in (
        (PretrainedNetwork(tiny("bert"), 0), "BertForSequenceClassification"),
        (TransformerClassifier(40, 1, size=16, layers=2, heads=2, feedforward_size=16).eval(), "TransformerClassifier"),
    ):
        with pytest.raises(AttestError, match=f"{name} does not decide at a last token"):
            knockout(observed(network, *batch()), 0)


@pytest.mark.whole("a training to its end")
def test_without_the_planted_span_the_decision_flips_and_without_random_spans_it_stays(planted):
    asked = {"prompt": TEMPLATE, "answers": ANSWERS, "tokenizer": planted.tokenizer, "labels": planted.labels}
    tried = attest.trial(planted.model, planted.texts, {"E16": {"spans": planted.spans}}, **asked)
    table = tried.table("E16").set_index("id")
    assert tried.summary["test/accuracy"] >= 0.95
    spoken = table.loc[[*planted.spans]]
    assert spoken["flipped"].mean() >= 0.95
    assert spoken["flipped_random"].mean() <= 0.02
    assert spoken["won"].mean() >= 0.98
    assert table.drop(index=[*planted.spans])["flipped"].isna().all(), "no span was named there"


def test_the_planted_span_is_what_the_model_attends_to_most(planted):
    asked = {"prompt": TEMPLATE, "answers": ANSWERS, "tokenizer": planted.tokenizer, "labels": planted.labels}
    tried = attest.trial(planted.model, planted.texts, {"E16": {}}, **asked)
    table = tried.table("E16").set_index("id")
    assert table.loc[[*planted.spans], "flipped"].mean() >= 0.95
    assert "cannot attend to the tokens that it attends to most" in tried.answers["E16"]
    assert not math.isnan(tried.summary["E16/sink/mean"])


def test_random_edges_that_do_as_much_as_the_attended_ones_are_half_a_win():
    """Of equal values it does not matter whose edge is cut: rounding neither wins nor loses."""
    model = tiny("gpt2")
    for name, parameter in model.named_parameters():
        if name.endswith("wpe.weight"):
            torch.nn.init.zeros_(parameter)
    tokens = torch.full((3, 9), 7)
    columns = knockout(observed(PretrainedNetwork(model, 0), tokens, torch.ones_like(tokens, dtype=torch.bool)), 0)
    assert columns["won"].tolist() == [0.5] * 3
