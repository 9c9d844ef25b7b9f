"""E17 switches off what it says, and finds the head that carries where one was built to carry."""

from functools import partial

import pytest
import torch
from scipy.stats import kendalltau

import attest
from attest.core.attention.interventions import attending
from attest.core.memory import budget_kept, set_memory_budget
from attest.experiments.layers import head_ablation, head_means, observe_layers, passes_a_text
from attest.experiments.layers.heads import CURVE, SPEC
from attest.experiments.layers.switching import Heads
from attest.experiments.layers.tampering import beside_random
from attest.experiments.registry import suited
from attest.models.inputs import Inputs
from attest.models.networks import TransformerClassifier
from attest.models.pretrained.calls import AttentionCall
from attest.models.pretrained.network import PretrainedNetwork
from tests.experiments.layers.networks import classifier, observed, tagger
from tests.models.pretrained.test_softmaxes import DISENTANGLED
from tests.models.pretrained.tiny import batch, tiny

IDS = torch.tensor([7, 3, 11])
DEBERTA = DISENTANGLED | {"share_att_key": True, "position_buckets": 16, "norm_rel_ebd": "layer_norm"}
MODELS = {
    "bert": ({}, lambda model: [layer.attention.output.dense for layer in model.bert.encoder.layer]),
    "llama": ({}, lambda model: [layer.self_attn.o_proj for layer in model.model.layers]),
    "gpt2": ({}, lambda model: [layer.attn.c_proj for layer in model.transformer.h]),
    "deberta-v2": (DEBERTA, lambda model: [layer.attention.output.dense for layer in model.deberta.encoder.layer]),
}
"""Settings, and what reads the heads of each layer side by side: by the interface, grouped, by it, by its softmax."""


def lead(logits):
    """Of each decision of its own class, and that class."""
    predicted = int(logits.argmax())
    return lambda other: other[predicted] - max(each for number, each in enumerate(other) if number != predicted)


class PlainLoop:
    """Heads switched off one by one, text by text and without padding, by hooks on the layers that read them."""

    def __init__(self, name, tokens, mask):
        settings, readers = MODELS[name]
        self.model = tiny(name, **settings)
        self.texts = [row[real] for row, real in zip(tokens, mask, strict=True)]
        self.readers, self.heads = readers(self.model), 4
        self.seen = {}
        self.read(lambda number, heads: self.seen.setdefault(number, []).append(heads.detach()) or heads)
        self.means = {number: torch.cat([each.flatten(0, 1) for each in seen]).mean(0) for number, seen in self.seen.items()}

    def read(self, change, text=None):
        """Logits of one text or of all, where ``change`` takes a layer's number and its heads ``(1, T, N, D)``."""
        handles = []
        for number, reader in enumerate(self.readers):

            def hook(_module, inputs, number=number):
                return (change(number, inputs[0].unflatten(-1, (self.heads, -1))).flatten(-2),)

            handles.append(reader.register_forward_pre_hook(hook))
        try:
            return [self.model(input_ids=each.unsqueeze(0)).logits[0] for each in (self.texts if text is None else [text])]
        finally:
            for handle in handles:
                handle.remove()

    def without(self, text, off):
        def change(number, heads):
            heads = heads.clone()
            for layer, head in off:
                if layer == number:
                    heads[..., head, :] = self.means[layer][head]
            return heads

        return self.read(change, text)[0]


@pytest.mark.parametrize("name", MODELS)
def test_each_head_costs_what_a_plain_loop_with_hooks_says(name):
    tokens, mask = batch()
    loop = PlainLoop(name, tokens, mask)
    network = PretrainedNetwork(loop.model, 0)
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    columns = head_ablation(seen, 0, head_means(network, [Inputs(tokens, mask)]), draws=2)
    for row, text in enumerate(loop.texts):
        clean = loop.without(text, []).detach()
        own = lead(clean)
        drops = {}
        for layer in range(2):
            for head in range(4):
                other = loop.without(text, [(layer, head)]).detach()
                place = f"layer{layer + 1}_head{head + 1}"
                drops[place] = float(own(clean) - own(other))
                assert columns[f"drop_{place}"][row] == pytest.approx(drops[place], abs=2e-6)
                assert columns[f"flipped_{place}"][row] == float(other.argmax() != clean.argmax())
        outputs = {}

        def kept(number, heads, outputs=outputs):
            outputs[number] = heads
            heads.retain_grad() if heads.requires_grad else None
            return heads

        own(loop.read(kept, text)[0]).backward()
        for layer, heads in outputs.items():
            away = (heads - loop.means[layer]) * heads.grad
            for head, value in enumerate(away.sum(dim=(0, 1, 3)).tolist()):
                assert columns[f"write_layer{layer + 1}_head{head + 1}"][row] == pytest.approx(value, abs=2e-6)
        first = int(torch.stack([columns[f"write_{place}"][row] for place in drops]).argmax())  # a tenth of 8 heads is one
        assert columns["drop_write"][row] == pytest.approx(list(drops.values())[first], abs=2e-6)
        expected = kendalltau(list(drops.values()), [float(columns[f"look_{place}"][row]) for place in drops]).statistic
        assert columns["tau_look"][row] == pytest.approx(expected, abs=1e-6)
    assert max(float(column.abs().max()) for key, column in columns.items() if key.startswith("drop_layer")) > 1e-5


@pytest.mark.parametrize("name", ["bert", "llama"])
def test_a_head_looks_at_the_token_without_which_the_decision_moves_furthest(name):
    tokens, mask = batch()
    model = tiny(name)
    network = PretrainedNetwork(model, 0)
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    columns = head_ablation(seen, 0, head_means(network, [Inputs(tokens, mask)]), draws=1)
    model.set_attn_implementation("eager")
    for row, length in enumerate((5, 9, 7)):
        text = tokens[row : row + 1, :length]
        with torch.no_grad():
            clean = model(input_ids=text, output_attentions=True)
            own = lead(clean.logits[0])
            without = [
                model(input_ids=torch.cat([text[:, :place], text[:, place + 1 :]], 1)).logits[0] for place in range(length)
            ]
        moved = torch.stack([(own(clean.logits[0]) - own(other)).abs() for other in without])
        matters = int(moved.argmax())
        deciding = 0 if name == "bert" else length - 1
        for layer, weights in enumerate(clean.attentions, start=1):
            for head in range(4):
                expected = float(weights[0, head, deciding, matters])
                assert columns[f"look_layer{layer}_head{head + 1}"][row] == pytest.approx(expected, abs=1e-5)


def test_a_head_that_works_against_the_decision_is_not_one_that_carries_it():
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    columns = head_ablation(seen, 0, head_means(network, [Inputs(tokens, mask)]), draws=1)
    places = [f"layer{layer}_head{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    write, drop = (torch.stack([columns[f"{kind}_{place}"] for place in places], dim=1) for kind in ("write", "drop"))
    most, furthest = write.argmax(dim=1), write.abs().argmax(dim=1)
    assert (most != furthest).any(), "in some text the head that writes most writes against the decision"
    torch.testing.assert_close(columns["drop_write"], drop.gather(1, most[:, None])[:, 0], rtol=0, atol=2e-6)


def test_the_mean_of_random_sets_leaves_the_chosen_set_out():
    drop, flipped = torch.tensor([[9.0, 1.0, 3.0]]), torch.tensor([[1.0, 0.0, 1.0]])
    found = {name: column.item() for name, column in beside_random(drop, flipped, 0.0).items()}
    assert found == {"drop": 9, "flipped": 1, "drop_random": 2, "flipped_random": 0.5, "won": 1}


def test_of_a_tagger_flips_are_shares_of_tags():
    seen = observed(tagger())
    network, labels = seen.network, seen.mask.long() - 1
    labels[0, 1] = -1  # the second word of the first text has no tag
    with torch.no_grad():
        seen = observe_layers(network, seen.ids, seen.tokens, seen.mask, labels)
    means = head_means(network, [seen.texts])
    columns = head_ablation(seen, 0, means, draws=1)
    (layer,) = means
    attention = network.get_submodule(layer)
    for head in range(4):

        def hook(_module, inputs, head=head):
            heads = inputs[0].clone().unflatten(-1, (4, -1))
            heads[..., head, :] = means[layer][head]
            return (heads.flatten(-2),)

        handle = attention.output.register_forward_pre_hook(hook)
        with torch.no_grad():
            other = network(seen.tokens, seen.mask)
        handle.remove()
        for row, length in enumerate(seen.mask.sum(dim=-1).tolist()):
            counted = [place for place in range(length) if labels[row, place] >= 0]
            own = [lead(seen.logits[row, place]) for place in counted]
            drops = [each(seen.logits[row, at]) - each(other[row, at]) for each, at in zip(own, counted, strict=True)]
            assert columns[f"drop_layer1_head{head + 1}"][row] == pytest.approx(float(sum(drops) / len(drops)), abs=1e-9)
            flips = [float(other[row, at].argmax() != seen.logits[row, at].argmax()) for at in counted]
            assert columns[f"flipped_layer1_head{head + 1}"][row] == pytest.approx(sum(flips) / len(flips))
    assert columns["flipped_layer1_head1"].isfinite().all()


def test_random_sets_have_as_many_heads_of_each_layer():
    network = PretrainedNetwork(tiny("bert"), 0)
    with torch.no_grad():
        seen = observe_layers(network, IDS, *batch())
    chosen = torch.tensor([[1, 1, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1, 1, 0], [1, 0, 0, 0, 1, 0, 0, 0]]).bool()
    drawn = Heads(seen, {}).random_sets(chosen, 20, 0)
    assert drawn.unflatten(-1, (2, 4)).sum(dim=-1).tolist() == [[[2, 1]] * 20, [[0, 3]] * 20, [[1, 1]] * 20]
    assert all(len({tuple(each) for each in row.tolist()}) > 2 for row in drawn)


def test_layers_below_a_head_are_not_run_again():
    network = PretrainedNetwork(tiny("bert", num_hidden_layers=4), 0)
    tokens, mask = batch()
    means = head_means(network, [Inputs(tokens, mask)])
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    rows, handles = [0] * 4, []
    for number, layer in enumerate(network.model.bert.encoder.layer):

        def count(_module, inputs, number=number):
            rows[number] += len(inputs[0])

        handles.append(layer.attention.register_forward_pre_hook(count))
    Heads(seen, means).without(torch.eye(16, dtype=torch.bool).expand(3, -1, -1))
    assert rows == [3 * 4, 3 * 8, 3 * 12, 3 * 16]
    assert passes_a_text(16, 4, draws=1) - passes_a_text(0, 4, draws=1) == sum(rows) / 3 / 4


def test_what_a_text_gets_depends_on_no_other():
    network, (tokens, mask) = PretrainedNetwork(tiny("llama"), 0), batch((12, 9, 7))
    means = head_means(network, [Inputs(tokens, mask)])
    with torch.no_grad():
        together = observe_layers(network, IDS, tokens, mask)
        alone = observe_layers(network, IDS[1:2], tokens[1:2, :9], mask[1:2, :9])
    both = [head_ablation(each, 3, means, draws=3, heads=[(2, 1)]) for each in (together, alone)]
    for name, column in both[1].items():
        torch.testing.assert_close(column[0], both[0][name][1], rtol=1e-4, atol=1e-5, equal_nan=True, msg=name)


def test_means_are_over_all_tokens_of_all_texts_and_not_over_batches():
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    together = head_means(network, [Inputs(tokens, mask)])
    apart = head_means(network, [Inputs(tokens[:1], mask[:1]), Inputs(tokens[1:], mask[1:])])
    for layer, mean in together.items():
        torch.testing.assert_close(apart[layer], mean, rtol=1e-6, atol=1e-7)


def test_every_column_is_described_and_in_its_range():
    seen = observed(classifier(3))
    columns = head_ablation(seen, 0, head_means(seen.network, [seen.texts]), heads=[(1, 2)])
    for name, column in columns.items():
        described = SPEC.column(name)
        assert described is not None, name
        finite = column[column.isfinite()]
        assert described.range[0] <= finite.min() <= finite.max() <= described.range[1], name
    assert not [column.name for column in SPEC.columns if not any(column.fits(name) for name in columns)]
    assert {f"flipped_look_{percentage}" for percentage in CURVE} <= {*columns}
    assert columns["look_layer1_head1"].isnan().tolist() == [False, True, False, False], "a text of one word has no other"
    assert columns["won_look"].isnan().tolist() == [False, True, False, False]
    assert columns["won_write"].isfinite().all()


def test_what_heads_hand_on_is_told_from_other_input_of_linear_layers(monkeypatch):
    for name, settings in (("bert", {}), ("deberta-v2", DEBERTA), ("modernbert", {})):
        assert PretrainedNetwork(tiny(name, **settings), 0, 4).shows_outputs
    network = PretrainedNetwork(tiny("deberta-v2", **DEBERTA), 0, 4)

    def crosswise(call, outputs, real):
        return call.hook("outputs", outputs.unflatten(-1, (-1, 4)).permute(0, 3, 1, 2), real).permute(0, 2, 3, 1).flatten(2)

    monkeypatch.setattr(AttentionCall, "handed_on", crosswise)
    assert not network.shows_outputs, "heads that lie crosswise"


@pytest.mark.parametrize(
    "settings", [{"share": 0.6}, {"draws": 0}, {"heads": [(0, 1)]}, {"spans": {7: [5]}}, {"head_means": None}], ids=str
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(settings, refusal):
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    ask = partial(head_ablation, seen, 0)
    with refusal():
        ask(**{"head_means": head_means(network, [Inputs(tokens, mask)])} | settings)


def test_a_model_that_does_not_show_its_heads_is_refused(refusal):
    network, (tokens, mask) = PretrainedNetwork(tiny("bert"), 0), batch()
    with torch.no_grad():
        seen = observe_layers(network, IDS, tokens, mask)
    vars(network)["shows_outputs"] = False
    assert "E17" not in suited(network)
    with refusal():
        head_ablation(seen, 0, {})


def test_without_a_name_nobody_asks_for_it():
    network = TransformerClassifier(40, 2, size=16, layers=2, heads=2, feedforward_size=16).eval()
    tokens, mask = batch()
    batches = [{"token_ids": tokens, "mask": mask}]
    assert "E17" not in attest.trial(network, batches).experiments
    assert "E17" in suited(network)


def test_maps_that_take_more_than_the_memory_budget_are_refused_before_any_pass(refusal):
    network = classifier()
    heads = sum(layer.heads for layer in attending(network).values())
    tokens = torch.ones(1, 64, dtype=torch.int64)
    with budget_kept():
        set_memory_budget(heads * 64**2 * 4 / 2**30)
        head_means(network, [Inputs(tokens, tokens.bool())])
        with refusal():
            head_means(network, [Inputs(torch.ones(1, 65, dtype=torch.int64), torch.ones(1, 65, dtype=torch.bool))])
