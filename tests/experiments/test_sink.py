"""Evidence of decoders without the sink: what lies on the first token changes nothing of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, kendalltau

pytest.importorskip("transformers", reason="needs the extra transformers")

from attest.core.attention.interventions import recorded
from attest.experiments import feature_importance, importance_entropy, observe
from attest.experiments.layers import layer_identifiability, observe_layers
from attest.experiments.layers.rollout import attention_rollout, where_rollout_begins
from attest.models.networks import TransformerClassifier
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import batch, tiny

IDS = torch.tensor([7, 3, 11])
PAIRS = ("gradient_inputs", "gradient_norm_inputs", "leave_one_out_inputs")


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
def test_agreement_without_the_sink_is_that_of_the_other_tokens(seen, name):
    columns = feature_importance(seen)
    between = columns["gradient_inputs"], columns["leave_one_out_inputs"]
    first, second = between if "_and_" in name else (seen.explanation, columns[name])
    for text, length in enumerate(seen.mask.sum(dim=-1)):
        others = [each[text, 1 : length - 1].double().numpy() for each in (first, second)]  # the last token decides
        assert columns[f"tau_{name}_without_sink"][text] == pytest.approx(kendalltau(*others).statistic, abs=1e-12)
        assert columns[f"concordant_{name}_without_sink"][text] == pytest.approx(concordant(*others), abs=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_agreement_without_the_sink_does_not_see_how_much_lies_there(seen, name):
    columns, of_parked = feature_importance(seen), feature_importance(parked(seen))
    for kind in ("tau", "concordant"):
        torch.testing.assert_close(of_parked[f"{kind}_{name}_without_sink"], columns[f"{kind}_{name}_without_sink"])
    assert (columns[f"tau_{name}_without_sink"] != columns[f"tau_{name}"]).any()


def test_agreement_is_undefined_where_one_token_is_left_without_the_sink():
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


def row_of(inside, layer, text, head, sink):
    """T and weights of the tokens that the deciding one attends to."""
    with recorded(inside.network, "values") as values:
        inside.network(inside.tokens, inside.mask)
    row = inside.attention[layer][text, head, int(inside.mask[text].sum()) - 1]
    counted = [place for place in range(len(row)) if row[place] > 0 and (sink or place > 0)]
    weights = row[counted].double().numpy()
    return values[layer][text, head, counted].double().numpy(), weights / weights.sum()


@torch.no_grad()
@pytest.mark.parametrize("of", ["", "_without_sink"])
def test_a_deciding_row_known_to_sum_to_1_equals_the_pseudo_inverse(inside, of):
    columns = layer_identifiability(inside)
    for place, layer in enumerate(inside.attention, start=1):
        for text in range(3):
            expected = {"rank": [], "trivial": [], "tau": [], "cosine": [], "l1": [], "jsd": []}
            for head in range(4):
                matrix, weights = row_of(inside, layer, text, head, sink=not of)
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


def test_identifiability_without_the_sink_does_not_see_how_much_lies_there(inside):
    parked_weights = {layer: weights * 0.01 for layer, weights in inside.attention.items()}
    for weights in parked_weights.values():
        weights[..., 0] += 0.99
    before, after = (layer_identifiability(seen) for seen in (inside, replace(inside, attention=parked_weights)))
    for name in (name for name in before if "_without_sink" in name):
        torch.testing.assert_close(after[name], before[name], rtol=1e-4, atol=1e-5, msg=name)
    assert (after["l1_strict"] != before["l1_strict"]).any()


@pytest.mark.parametrize("name", ["gradient", "attention", "leave_one_out"])
def test_entropy_without_the_sink_is_that_of_the_other_tokens(seen, name):
    importances = feature_importance(seen) | {"attention": seen.explanation}
    source = {"gradient": "gradient_norm_inputs", "leave_one_out": "leave_one_out_inputs"}.get(name, name)
    columns, of_parked = (importance_entropy(each, each.ids) for each in (seen, parked(seen)))
    for text, length in enumerate(seen.mask.sum(dim=-1)):
        others = importances[source][text, 1:length].double().numpy()
        assert columns[f"entropy_{name}_without_sink"][text] == pytest.approx(entropy(others) / np.log(len(others)), abs=1e-5)
    torch.testing.assert_close(of_parked[f"entropy_{name}_without_sink"], columns[f"entropy_{name}_without_sink"])
    assert (columns[f"entropy_{name}_without_sink"] != columns[f"entropy_{name}"]).all()
