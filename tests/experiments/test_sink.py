"""Sinks as they are measured; and evidence of decoders without them: what lies on a sink changes nothing of it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, kendalltau
from torch import nn

from attest.core.attention.interventions import recorded
from attest.experiments import feature_importance, importance_entropy, observe, sink
from attest.experiments.layers import identifiability, layer_identifiability, observe_layers
from attest.experiments.layers.rollout import attention_rollout, where_rollout_begins
from attest.models.layers_observed import LayerObservation
from attest.models.networks import TransformerClassifier
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import batch, tiny

IDS = torch.tensor([7, 3, 11])
PAIRS = ("gradient_inputs", "gradient_norm_inputs", "leave_one_out_inputs")


@dataclass(frozen=True)
class Told(LayerObservation):
    """An observation of a layer whose values are told."""

    told: torch.Tensor | None = None

    def values(self):
        return dict.fromkeys(self.attention, self.told)


def first_token(observation):
    """Sinks of every head at the first token alone."""
    first = torch.zeros_like(observation.mask)
    first[:, 0] = True
    heads = {layer: weights.shape[1] for layer, weights in observation.attention.items()}
    return {layer: first.unsqueeze(1).expand(-1, count, -1) for layer, count in heads.items()}


@pytest.fixture
def first_is_sink(monkeypatch):
    monkeypatch.setattr(sink, "sinks_of", first_token)
    monkeypatch.setattr(identifiability, "sinks_of", first_token)


def test_a_sink_is_attended_to_by_most_rows_and_its_value_is_short():
    """By hand, of two heads of a decoder: the first token, then the third; a word with a long value is none."""
    weights = torch.tensor(
        [
            [[1.0, 0, 0, 0, 0], [0.9, 0.1, 0, 0, 0], [0.8, 0.1, 0.1, 0, 0], [0.2, 0.3, 0.4, 0.1, 0], [0.1, 0.3, 0.3, 0.3, 0]],
            [
                [1.0, 0, 0, 0, 0],
                [0.1, 0.9, 0, 0, 0],
                [0.1, 0.2, 0.7, 0, 0],
                [0.1, 0.2, 0.5, 0.2, 0],
                [0.1, 0.2, 0.4, 0.2, 0.1],
            ],
        ]
    ).unsqueeze(0)
    lengths = torch.tensor([[0.1, 1.0, 1.0, 0.1, 1.2], [1.0, 0.3, 0.4, 1.2, 1.1]])
    values = torch.stack([torch.zeros_like(lengths), lengths], dim=-1).unsqueeze(0)
    mask = torch.ones(1, 5, dtype=torch.bool)
    seen = Told(nn.Module(), IDS[:1], mask.long(), mask, {"layer": weights}, torch.zeros(1, 1), told=values)
    (found,) = sink.sinks_of(seen).values()
    # head 1: (0.9 + 0.8 + 0.2 + 0.1) / 4 = 0.5, short. The third gets 0.35, long. The fourth is seen by one row alone.
    # head 2: the second gets 0.2, but for its own row. The third (0.5 + 0.4) / 2, and is 0.4 of the median of 1.
    assert found[0].tolist() == [[True, False, False, False, False], [False, False, True, False, False]]


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
def test_values_are_what_heads_hand_on_where_tokens_attend_to_themselves(name, monkeypatch):
    tokens, mask = batch()
    seen = observe_layers(PretrainedNetwork(tiny(name), 0), IDS, tokens, mask)
    expected = seen.values()
    monkeypatch.setattr(PretrainedNetwork, "shows_values", False)
    for layer, found in seen.values().items():
        real = mask.unsqueeze(1).expand(found.shape[:3])
        torch.testing.assert_close(found[real], expected[layer][real])


def test_heads_are_counted_by_where_their_sinks_are(monkeypatch):
    tokens, mask = batch()
    special = torch.zeros_like(mask)
    special[:, [0, 2]] = True
    inside = replace(observe_layers(PretrainedNetwork(tiny("bert"), 0), IDS, tokens, mask), special=special)
    first, second = inside.attention
    found = {layer: torch.zeros(3, 4, mask.shape[-1], dtype=torch.bool) for layer in (first, second)}
    for layer, head, place in ((first, 0, 0), (first, 1, 2), (second, 1, 2), (second, 1, 3)):
        found[layer][:, head, place] = True
    monkeypatch.setattr(identifiability, "sinks_of", lambda observation: found)
    columns = layer_identifiability(inside)
    expected = {"sinks": 3 / 8, "sinks_first": 1 / 8, "sinks_special": 2 / 8, "sinks_other": 1 / 8, "sinks_layer1": 2 / 4}
    assert {name: columns[name].tolist() for name in expected} == {name: [share] * 3 for name, share in expected.items()}


def test_a_token_is_left_out_that_is_the_sink_of_a_tenth_of_the_heads(seen, monkeypatch):
    def at_the_fourth(observation):
        layers = {layer: torch.zeros_like(each) for layer, each in first_token(observation).items()}
        next(iter(layers.values()))[:, 1, 3] = True  # one head of eight
        return layers

    monkeypatch.setattr(sink, "sinks_of", at_the_fourth)
    assert sink.tokens_that_are_sinks(replace(seen, cache={})).nonzero()[:, 1].tolist() == [3, 3, 3]
    monkeypatch.setattr(sink, "HEADS", 0.13)
    assert not sink.tokens_that_are_sinks(replace(seen, cache={})).any()


@pytest.fixture(scope="module")
def seen():
    """A tiny Llama, and rollout from its deciding token in place of the attention."""
    tokens, mask = batch()
    network = PretrainedNetwork(tiny("llama"), 0)
    pooled, inside = (look(network, IDS, tokens, mask) for look in (observe, observe_layers))
    return pooled.explained_by(attention_rollout(inside.attention, where_rollout_begins(pooled)).detach())


def parked(observation):
    """The same with all weight but a hundredth on the first token, the others as one another as they were."""
    weights = observation.explanation * 0.01
    weights[:, 0] += 0.99
    return observation.explained_by(weights)


def concordant(x, y):
    signs = [(x[i] - x[j]) * (y[i] - y[j]) for i in range(len(x)) for j in range(i)]
    return sum(sign > 0 for sign in signs) / sum(sign != 0 for sign in signs)


@pytest.mark.parametrize("name", [*PAIRS, "gradient_and_leave_one_out"])
def test_agreement_without_the_sink_is_that_of_the_other_tokens(seen, name, first_is_sink):
    columns = feature_importance(seen)
    between = columns["gradient_inputs"], columns["leave_one_out_inputs"]
    first, second = between if "_and_" in name else (seen.explanation, columns[name])
    for text, length in enumerate(seen.mask.sum(dim=-1)):
        others = [each[text, 1 : length - 1].double().numpy() for each in (first, second)]  # the last token decides
        assert columns[f"tau_{name}_without_sink"][text] == pytest.approx(kendalltau(*others).statistic, abs=1e-12)
        assert columns[f"concordant_{name}_without_sink"][text] == pytest.approx(concordant(*others), abs=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_agreement_without_the_sink_does_not_see_how_much_lies_there(seen, name, first_is_sink):
    columns, of_parked = feature_importance(seen), feature_importance(parked(seen))
    for kind in ("tau", "concordant"):
        torch.testing.assert_close(of_parked[f"{kind}_{name}_without_sink"], columns[f"{kind}_{name}_without_sink"])
    assert (columns[f"tau_{name}_without_sink"] != columns[f"tau_{name}"]).any()


def test_agreement_is_undefined_where_one_token_is_left_without_the_sink(first_is_sink):
    network = PretrainedNetwork(tiny("llama"), 0)
    seen = observe(network, torch.tensor([1]), torch.tensor([[5, 2]]), torch.ones(1, 2, dtype=torch.bool))
    assert feature_importance(seen, leave_one_out=False)["tau_gradient_inputs_without_sink"].isnan().all()


def test_an_encoder_has_no_sink():
    tokens, mask = batch()
    network = TransformerClassifier(40, 1, size=16, layers=2, heads=2, feedforward_size=16).eval()
    assert not [name for name in feature_importance(observe(network, IDS, tokens, mask)) if "sink" in name]


@pytest.fixture(scope="module", params=["llama", "mistral"])
def inside(request):
    """The second attends within a window of four tokens, where the first token of a text is not seen."""
    tokens, mask = batch()
    settings = {"sliding_window": 4} if request.param == "mistral" else {}
    return observe_layers(PretrainedNetwork(tiny(request.param, **settings), 0), IDS, tokens, mask)


def row_of(inside, layer, text, head, with_first):
    """T and weights of the tokens that the deciding one attends to."""
    with recorded(inside.network, "values") as values:
        inside.network(inside.tokens, inside.mask)
    row = inside.attention[layer][text, head, int(inside.mask[text].sum()) - 1]
    counted = [place for place in range(len(row)) if row[place] > 0 and (with_first or place > 0)]
    weights = row[counted].double().numpy()
    return values[layer][text, head, counted].double().numpy(), weights / weights.sum()


@torch.no_grad()
@pytest.mark.parametrize("of", ["", "_without_sink"])
def test_a_deciding_row_known_to_sum_to_1_equals_the_pseudo_inverse(inside, of, first_is_sink):
    columns = layer_identifiability(inside)
    for place, layer in enumerate(inside.attention, start=1):
        for text in range(3):
            expected = {"rank": [], "trivial": [], "tau": [], "cosine": [], "l1": [], "jsd": []}
            for head in range(4):
                matrix, weights = row_of(inside, layer, text, head, with_first=not of)
                matrix = np.hstack([matrix, np.ones((len(weights), 1))])
                effective = weights @ matrix @ np.linalg.pinv(matrix, rtol=1e-6)
                clipped = effective.clip(0) / effective.clip(0).sum()
                expected["rank"].append(np.linalg.matrix_rank(matrix, rtol=1e-6))
                expected["trivial"].append(expected["rank"][-1] == len(weights))
                expected["tau"].append(kendalltau(weights, effective).statistic)
                expected["cosine"].append(weights @ effective / np.linalg.norm(weights) / np.linalg.norm(effective))
                expected["l1"].append(np.abs(weights - effective).sum())
                expected["jsd"].append(np.nan_to_num(jensenshannon(weights, clipped)) ** 2)  # NaN: the root of a rounding
            for name, numbers in expected.items():
                number = columns[f"{name}_strict{of}_layer{place}"][text]
                assert number == pytest.approx(np.mean(numbers), abs=1e-6), (name, text)


def test_identifiability_without_the_sink_does_not_see_how_much_lies_there(inside, first_is_sink):
    parked_weights = {layer: weights * 0.01 for layer, weights in inside.attention.items()}
    for weights in parked_weights.values():
        weights[..., 0] += 0.99
    before, after = (layer_identifiability(seen) for seen in (inside, replace(inside, attention=parked_weights)))
    for name in (name for name in before if "_without_sink" in name):
        torch.testing.assert_close(after[name], before[name], rtol=1e-4, atol=1e-5, msg=name)
    assert (after["l1_strict"] != before["l1_strict"]).any()


@pytest.mark.parametrize("name", ["gradient", "attention", "leave_one_out"])
def test_entropy_without_the_sink_is_that_of_the_other_tokens(seen, name, first_is_sink):
    importances = feature_importance(seen) | {"attention": seen.explanation}
    source = {"gradient": "gradient_norm_inputs", "leave_one_out": "leave_one_out_inputs"}.get(name, name)
    columns, of_parked = (importance_entropy(each, each.ids) for each in (seen, parked(seen)))
    for text, length in enumerate(seen.mask.sum(dim=-1)):
        others = importances[source][text, 1:length].double().numpy()
        assert columns[f"entropy_{name}_without_sink"][text] == pytest.approx(entropy(others) / np.log(len(others)), abs=1e-5)
    torch.testing.assert_close(of_parked[f"entropy_{name}_without_sink"], columns[f"entropy_{name}_without_sink"])
    assert (columns[f"entropy_{name}_without_sink"] != columns[f"entropy_{name}"]).all()
