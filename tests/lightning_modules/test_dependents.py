"""Adversaries, guides and probes: what is trained, what is not, and whose attention is used."""

from typing import Any

import pytest
import torch
from torch import Tensor

from attest.core.attention.interventions import attending, recorded
from attest.lightning_modules import GuidedClassifier, ProbedTagger, TaggingAdversary, TrainedAdversary
from attest.models.networks import (
    Average,
    BiLSTM,
    PoolingClassifier,
    TransformerEncoder,
    TransformerTagger,
    WeightedStatesTagger,
)

WORDS = 12
LENGTHS = torch.tensor([6, 4, 1, 5])
TAGS = ("O", "B-NP", "I-NP")


def bilstm(words: int, outputs: int) -> PoolingClassifier:
    return PoolingClassifier(words, outputs, lambda size: BiLSTM(size, 8, 4))


def transformer(words: int, outputs: int) -> PoolingClassifier:
    return PoolingClassifier(words, outputs, lambda size: TransformerEncoder(size, 8, 1, 1, 8, dropout=0.5))


def tagger(words: int, outputs: int) -> TransformerTagger:
    return TransformerTagger(words, outputs, 8, 1, 2, 8, embedding_size=None, dropout=0.5)


def batch() -> dict[str, Any]:
    mask = torch.arange(6) < LENGTHS.unsqueeze(-1)
    tokens = torch.randint(2, WORDS, (4, 6)) * mask
    tags = torch.randint(0, 3, (4, 6)).masked_fill(~mask, -100)
    return {"id": torch.arange(4), "token_ids": tokens, "mask": mask, "label": torch.tensor([0, 1, 0, 1]), "tags": tags}


def adam(groups: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(groups, lr=0.05, weight_decay=0.1)


def steps(module: Any, of: dict[str, Any], count: int) -> list[float]:
    """Train on one batch; the loss before each step."""
    optimizer = module.configure_optimizers()
    module.train()
    losses = []
    for _ in range(count):
        loss = module.training_step(of, 0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def against(network: Any, state: dict[str, Tensor], **options: Any) -> Any:
    options = {"vocab_size": WORDS, "optimizer": adam} | options
    if network is tagger:
        module: Any = TaggingAdversary(network, network=network, num_classes=3, label_names=TAGS, **options)
    else:
        module = TrainedAdversary(network, network=network, **options)
    module.take_base(state)
    return module


@pytest.mark.parametrize("variant", ["frozen", "unfrozen"])
def test_a_frozen_network_reads_as_its_base_does_without_dropout(variant):
    base, of = transformer(WORDS, 1).eval(), batch()
    module = against(transformer, base.state_dict(), variant=variant).train()
    ours, theirs = (network.encode(of["token_ids"], of["mask"]) for network in (module.network, base))
    assert torch.equal(ours, theirs) == (variant == "frozen")


@pytest.mark.parametrize("network", [bilstm, transformer, tagger])
def test_frozen_means_that_nothing_but_attention_moves_bit_for_bit(network):
    state = network(WORDS, 3 if network is tagger else 1).state_dict()
    module = against(network, state, variant="frozen", lam=1.0, divergence="jsd")
    attention = {id(parameter) for parameter in module.network.attention_parameters()}
    started = {name: parameter.detach().clone() for name, parameter in module.network.named_parameters()}
    losses = steps(module, batch(), 20)
    assert losses[-1] < losses[0] - 1e-3, "the adversary learns"
    for name, parameter in module.network.named_parameters():
        if id(parameter) not in attention:
            assert torch.equal(parameter, state[name]), name
        elif parameter.grad is not None and parameter.grad.any():
            assert not torch.equal(parameter, started[name]), name


@pytest.mark.parametrize("network", [bilstm, tagger])
def test_the_base_is_looked_at_and_never_changed_nor_stored(network):
    state = {name: value.clone() for name, value in network(WORDS, 3 if network is tagger else 1).state_dict().items()}
    module = against(network, state, lam=0.5)
    steps(module, batch(), 5)
    assert all(torch.equal(value, state[name]) for name, value in module.base.network.state_dict().items())
    assert not any("base" in name for name in module.state_dict())
    assert not torch.equal(module.network.decoder.weight, state["decoder.weight"])


def test_a_base_that_was_not_loaded_is_not_looked_at(refusal):
    module = GuidedClassifier(bilstm, network=bilstm, vocab_size=WORDS)
    with refusal():
        module.on_test_batch_start(batch(), 0)


def test_a_tagger_is_trained_and_chosen_on_yangs_scale():
    state, of = tagger(WORDS, 3).state_dict(), batch()
    ours, yangs = (against(tagger, state, lam=0.5, convention=each).eval() for each in ("instances", "yang"))
    yangs.network.load_state_dict(ours.network.state_dict())
    found = yangs.objective(of, yangs.base.reference(of))
    expected = (found.distance - 0.5 * found.divergence / LENGTHS).mean()
    assert yangs.training_step(of, 0).item() == pytest.approx(expected.item())
    assert yangs.training_step(of, 0).item() != pytest.approx(ours.training_step(of, 0).item())
    logged: dict[str, Tensor] = {}
    yangs.log_dict = lambda values, **options: logged.update(values)
    yangs.validation_step(of, 0)
    yangs.on_validation_epoch_end()
    assert logged["validation/objective"].item() == pytest.approx(expected.item(), rel=1e-5)
    assert logged["validation/divergence"].item() == pytest.approx(found.divergence.mean().item(), rel=1e-5)


def test_dropout_never_reaches_what_is_seen_of_the_base():
    module = against(transformer, transformer(WORDS, 1).state_dict())
    module.train()
    of = batch()
    first, second = (module.base.reference(of) for _ in range(2))
    assert torch.equal(first.logits, second.logits)


def test_a_guide_attends_as_it_is_told():
    state = bilstm(WORDS, 1).state_dict()
    module = GuidedClassifier(
        bilstm, network=lambda words, outputs: PoolingClassifier(words, outputs, lambda size: Average(size, 8, 4)),
        vocab_size=WORDS, optimizer=adam,
    )  # fmt: skip
    module.take_base(state)
    of = batch()
    losses = steps(module, of, 20)
    assert losses[-1] < losses[0]
    module.eval()
    module.on_test_batch_start(of, 0)
    seen = module.test_step(of, 0)["observe"]
    module.on_test_batch_end(None, of, 0)
    theirs = module.base.reference(of)
    torch.testing.assert_close(seen.attention, theirs.weights["attention"])
    hidden = module.network.encode(of["token_ids"], of["mask"])
    expected = module.network.decoder(torch.einsum("bt,bth->bh", theirs.weights["attention"], hidden))
    torch.testing.assert_close(seen.logits, expected)


def test_a_probe_attends_as_it_is_told_in_every_head():
    module = ProbedTagger(tagger, network=tagger, vocab_size=WORDS, num_classes=3, label_names=TAGS, optimizer=adam)
    module.take_base(tagger(WORDS, 3).state_dict())
    of = batch()
    module.eval()
    module.on_test_batch_start(of, 0)
    module.test_step(of, 0)
    with recorded(module.network, "weights") as weights:  # as evidence does, between step and end of the batch
        module.network(of["token_ids"], of["mask"])
    module.on_test_batch_end(None, of, 0)
    given = module.base.reference(of).weights
    assert given.keys() == weights.keys()
    assert all(torch.equal(weights[name], given[name]) for name in given)
    assert not any(layer.replacements for layer in attending(module.network).values())
    before = module.network.encoder.layers[0].attention.query.weight.detach().clone()
    steps(module, of, 3)
    moved = (module.network.encoder.layers[0].attention.query.weight - before).abs().max()
    assert moved == 0, "queries are idle"


def test_a_probe_by_weighted_states_learns_under_the_attention_of_a_tagger():
    module = ProbedTagger(
        tagger, network=lambda words, tags: WeightedStatesTagger(words, tags, size=8, heads=2, embedding_size=8),
        vocab_size=WORDS, num_classes=3, label_names=TAGS, optimizer=adam,
    )  # fmt: skip
    module.take_base(tagger(WORDS, 3).state_dict())
    of = batch()
    losses = steps(module, of, 20)
    assert losses[-1] < losses[0]
    module.eval()
    module.on_test_batch_start(of, 0)
    module.test_step(of, 0)
    with recorded(module.network, "weights") as weights:
        module.network(of["token_ids"], of["mask"])
    module.on_test_batch_end(None, of, 0)
    given = module.base.reference(of).weights
    assert given.keys() == weights.keys()
    assert all(torch.equal(weights[name], given[name]) for name in given)


@pytest.mark.parametrize("network", [bilstm, tagger])
def test_validation_scores_the_objective_as_a_mean_over_instances(network):
    module = against(network, network(WORDS, 3 if network is tagger else 1).state_dict(), lam=0.5)
    module.eval()
    of = batch()
    logged: dict[str, Tensor] = {}
    module.log_dict = lambda values, **_: logged.update(values)
    parts = [{name: value[rows] for name, value in of.items()} for rows in (slice(0, 1), slice(1, 4), slice(4, 4))]
    for part in parts:
        module.validation_step(part, 0)
    module.on_validation_epoch_end()
    found = module.objective(of, module.base.reference(of))
    torch.testing.assert_close(logged["validation/objective"], found.losses(0.5).mean())
    torch.testing.assert_close(logged["validation/divergence"], found.divergence.mean())
