"""The adversary learns, what it attacks does not change by a bit, and its losses are those of the literature."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional

from attest.core.attention.interventions import intervene
from attest.experiments.layers import clean_keys, replacing_keys
from attest.lightning_modules import KeyAdversary
from attest.models.inputs import Inputs
from attest.models.networks import TransformerClassifier
from attest.models.networks.pooling import PoolingClassifier
from tests.experiments.networks import VOCABULARY, ragged_batch

LABELS = torch.tensor([1, 0, 1, 0])


def small(words, outputs):
    return TransformerClassifier(words, outputs, size=8, layers=2, heads=2, feedforward_size=16, dropout=0.5)


def adversary(attack="adversarial", **options):
    torch.manual_seed(0)
    module = KeyAdversary(attack, network=small, vocab_size=VOCABULARY, **options)
    for name, parameter in module.network.named_parameters():
        if parameter.ndim > 1 and "norm" not in name:
            torch.nn.init.normal_(parameter, std=0.7)
    module.log = lambda *_, **__: None
    module._trainer = SimpleNamespace(datamodule=SimpleNamespace(seed=0), global_step=0, barebones=False)
    return module


def batch():
    ids, tokens, mask = ragged_batch([6, 2, 3, 9])
    return {"id": ids, "token_ids": tokens, "mask": mask, "label": LABELS}


def distances(module, data):
    """Clean and adversarial keys of every text by itself, real tokens only: squared differences, flat."""
    with torch.no_grad():
        clean = clean_keys(module.network, module.layers, Inputs(data["token_ids"], data["mask"]))
        apart = (clean - module.adversary(clean)).square()
    return [apart[row, :, : int(n)].flatten().numpy() for row, n in enumerate(data["mask"].sum(-1))]


@pytest.mark.parametrize("attack", ["adversarial", "random", "opposite"])
def test_the_network_under_attack_stays_bit_identical_while_the_adversary_learns(attack):
    module, data = adversary(attack, weight=1.0), batch()
    network, mlp = (copy.deepcopy(part.state_dict()) for part in (module.network, module.adversary))
    optimiser = module.configure_optimizers()
    before = module.train().training_step(data, 0).item()
    for _ in range(30):
        optimiser.zero_grad()
        module.training_step(data, 0).backward()
        optimiser.step()
    assert module.training_step(data, 0).item() < before
    assert all(torch.equal(value, network[name]) for name, value in module.network.state_dict().items())
    assert not any(torch.equal(value, mlp[name]) for name, value in module.adversary.state_dict().items())
    assert all(parameter.grad is None for parameter in module.network.parameters())


def test_in_training_the_network_under_attack_has_no_dropout():
    module, data = adversary(), batch()
    assert torch.equal(module.train().training_step(data, 0), module.training_step(data, 0))
    assert module.adversary.training
    assert not any(part.training for part in module.network.modules())


@pytest.mark.parametrize("distance", ["log", "norm"])
def test_the_loss_is_cross_entropy_less_a_distance_without_padding(distance):
    module, data = adversary(distance=distance, weight=0.3).eval(), batch()
    with torch.no_grad():
        attacked = module.attacked(data)
        keys = module.adversary(clean_keys(module.network, module.layers, Inputs(data["token_ids"], data["mask"])))
        with intervene(module.network, *replacing_keys(module.network, module.layers, keys)):
            logits = module.network(data["token_ids"], data["mask"])[:, 0]
    entropy = functional.binary_cross_entropy_with_logits(logits, LABELS.float(), reduction="none").numpy()
    apart = distances(module, data)
    far = [np.log(each.mean()) if distance == "log" else np.sqrt(each.sum()) for each in apart]
    np.testing.assert_allclose(attacked.losses, 0.3 * entropy - 0.7 * np.array(far), rtol=1e-5)
    np.testing.assert_allclose(attacked.distance, [each.mean() for each in apart], rtol=1e-5)


def test_opposite_is_scored_on_the_opposite_label_and_has_no_distance():
    module, data = adversary("opposite").eval(), batch()
    with torch.no_grad():
        attacked = module.attacked(data)
    assert torch.equal(attacked.labels, 1 - LABELS)
    p = attacked.observation.probabilities.gather(-1, (1 - LABELS).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(attacked.losses, -p.log())


def test_random_keys_are_new_at_each_step_and_one_instances_own_in_evaluation():
    module, data = adversary("random"), batch()
    clean = clean_keys(module.network, module.layers, Inputs(data["token_ids"], data["mask"]))
    module.eval()
    noise = module._noise(data["id"], clean)
    assert torch.equal(noise, module._noise(data["id"], clean))
    assert torch.equal(noise[1:3, :, :5], module._noise(data["id"][1:3], clean[1:3, :, :5])), "neighbours do not matter"
    assert 0 < noise.min() < 0.05 < 0.45 < noise.mean() < 0.55 < 0.95 < noise.max() <= 1
    module.train()
    first = module._noise(data["id"], clean)
    module._trainer.global_step = 1
    assert not torch.equal(first, module._noise(data["id"], clean))


def test_published_distance_runs_away_where_its_logarithm_slows_down():
    """Each step of the norm's gradient is as long as the last one; the logarithm's shrinks with the distance."""
    slopes = {}
    for distance in ("norm", "log"):
        module, data = adversary(distance=distance, weight=0.0), batch()
        slopes[distance] = []
        for scale in (1.0, 100.0):
            with torch.no_grad():
                module.adversary.output.weight.mul_(scale)
            module.adversary.zero_grad()
            module.train().training_step(data, 0).backward()
            slopes[distance].append(module.adversary.output.bias.grad.norm().item())
    assert slopes["norm"][1] > slopes["norm"][0] / 2
    assert slopes["log"][1] < slopes["log"][0] / 10


def test_what_cannot_be_attacked_is_named(refusal):
    with refusal():
        KeyAdversary("opposite", network=small, vocab_size=VOCABULARY, num_classes=3)
    with refusal():
        KeyAdversary(network=PoolingClassifier, vocab_size=VOCABULARY)
