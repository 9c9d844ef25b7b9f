"""What breaks the contract of the four steps is said before anything is measured."""

import pytest
import torch
from torch import Tensor, nn

from attest.core.attention import Sparsemax, Uniform
from attest.core.errors import AttestError
from attest.experiments import observe
from tests.experiments.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier, ragged_batch

LENGTHS = [6, 1, 4]


class Tampered(FourSteps):
    """A network that keeps the contract, but for what a test puts in the place of its steps."""

    def __init__(self, **steps) -> None:
        super().__init__(pooling_classifier(outputs=3))
        for name, step in steps.items():
            setattr(self, name, step)
        self.eval()


def batch(**changes) -> tuple[Tensor, ...]:
    """A good batch with changes."""
    names = ("ids", "tokens", "mask")
    given = dict(zip(names, ragged_batch(LENGTHS), strict=True))
    return tuple(changes[name](given[name]) if name in changes else given[name] for name in names)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("wrap", [lambda network: network, FourSteps, DeepDecoder])
@pytest.mark.parametrize("projection", [None, Sparsemax(), Uniform()])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_what_keeps_it_is_observed(outputs, wrap, projection, dtype):
    network = wrap(pooling_classifier(outputs, projection, dtype))
    assert observation_of(network, LENGTHS).logits.shape == (3, outputs)
    assert observation_of(network, [2, 2]).logits.shape == (2, outputs)


@pytest.mark.parametrize(
    "changes",
    [
        {"mask": lambda mask: mask.float()},
        {"mask": lambda mask: mask[:, :1]},
        {"mask": lambda mask: mask & torch.tensor([[True], [False], [True]])},
        {"mask": lambda mask: mask.flip(1)},
        {"tokens": lambda tokens: tokens.tolist()},
        {"tokens": lambda tokens: tokens.float()},
        {"tokens": lambda tokens: tokens + 30},
        {"ids": lambda ids: ids[:1]},
        {"tokens": lambda tokens: None},
        {name: lambda given: given[:0] for name in ("ids", "tokens", "mask")},
    ],
)
def test_a_bad_batch_is_refused(changes, refusal):
    with refusal():
        observe(pooling_classifier(), *batch(**changes))


@pytest.mark.parametrize(
    "beside",
    [{"words": [[0]]}, {"special": torch.zeros(3, 1)}],
    ids=["words in lists", "special without texts"],
)
def test_what_is_known_beside_a_batch_has_its_shape(beside, refusal):
    with refusal():
        observe(pooling_classifier(), *batch(), **beside)


def spread(scores, mask):
    return scores.softmax(dim=-1)


PROBABILITIES = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.9, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    "steps",
    [
        {"project": lambda scores, mask: scores.sigmoid() * mask},
        {"project": spread},
        {"project": lambda scores, mask: scores * torch.nan},
        {"project": lambda scores, mask: mask * (2.0 * (torch.arange(6) == 0) - scores.softmax(dim=-1))},
        {"score": lambda hidden, mask: hidden},
        {"decode": lambda hidden, weights: hidden[:, 0, 0]},
        {"decode": lambda hidden, weights: PROBABILITIES},
        {"encode": lambda tokens: tokens},
        {"encode": None},
        {"token_logits": lambda hidden: hidden[..., :3]},
    ],
)
def test_a_network_that_breaks_it_is_refused(steps, refusal):
    with refusal():
        observe(Tampered(**steps), *batch())


@pytest.mark.parametrize(
    "encode",
    [
        lambda hidden: hidden.transpose(1, 2),
        lambda hidden: (hidden, None),
        lambda hidden: hidden.detach(),
    ],
)
def test_hidden_states_that_are_none_are_refused(encode, refusal):
    network = pooling_classifier()
    with refusal():
        observe(Tampered(network=network, encode=lambda *given: encode(network.encode(*given))), *batch())


def test_steps_are_asked_for_before_anything_else(refusal):
    with refusal():
        observe(nn.Linear(2, 2), *batch())
    with refusal():
        observe(FourSteps, *batch())


def test_padding_is_looked_at_when_it_is_first_seen(refusal):
    network = Tampered(project=spread)
    observe(network, *ragged_batch([3, 3]))
    with refusal():
        observe(network, *ragged_batch([3, 2]))


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_network_that_has_diverged_is_left_to_those_who_look_at_its_loss(part):
    network = pooling_classifier()
    nn.init.constant_(next(getattr(network, part).parameters()), torch.nan)
    assert observe(network, *batch()).logits.isnan().all()


def test_numbers_are_looked_at_once_a_network():
    network = Tampered()
    observe(network, *batch())
    network.project = spread
    observe(network, *batch())


class Dropping(FourSteps):
    """Draws dropout by a function, so that no layer shows it."""

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return nn.functional.dropout(super().encode(tokens, mask), training=self.training)


def test_training_mode_is_refused_where_passes_differ(refusal):
    network = Dropping(pooling_classifier())
    with refusal():
        observe(network, *batch())
    observe(network.eval(), *batch())
    with pytest.raises(AttestError, match="in training mode"):
        observe(network.train(), *batch())


def test_training_mode_of_a_part_is_refused(refusal):
    network = FourSteps(Dropping(pooling_classifier()).train()).eval()
    network.network.train()
    with refusal():
        observe(network, *batch())


def test_batch_normalisation_in_training_mode_is_refused(refusal):
    network = FourSteps(pooling_classifier())
    network.normalise = nn.BatchNorm1d(16)
    with refusal():
        observe(network, *batch())


def test_training_mode_that_changes_nothing_is_taken():
    assert FourSteps(pooling_classifier()).training
    observe(FourSteps(pooling_classifier()), *batch())


class Other(FourSteps):
    """Another decision in forward than by the steps."""

    apart = 0.1

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask)) + self.apart


def test_a_forward_that_is_not_the_four_steps_is_refused(refusal):
    network = Other(pooling_classifier()).eval()
    with refusal():
        observe(network, *batch())
    network.apart = 0.0
    observe(network, *batch())
    network.forward = lambda lengths, tokens: None  # of another shape: nothing that it promises
    observe(network, *batch())


class Placed(nn.Module):
    """Words and positions, each in a table."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.out = nn.Embedding(50, 8), nn.Embedding(60, 8), nn.Linear(8, 2)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.words(tokens) + self.places(torch.arange(tokens.shape[1])[None])

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return hidden.sum(dim=-1)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.out((weights.unsqueeze(1) @ hidden).squeeze(1))


@pytest.mark.parametrize("lengths", [[6, 1, 4], [6], [1]])
def test_a_table_of_positions_is_none_of_tokens_at_any_size_of_a_batch(lengths):
    network = Placed().eval()
    ids, tokens, mask = ragged_batch(lengths)
    assert torch.equal(observe(network, ids, tokens, mask).embedded, network.words(tokens))
