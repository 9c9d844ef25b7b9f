"""Networks with hand-set parameters whose attention is right or wrong by construction.

Each reads the rule off its embedded words, differentiably, and then chooses what stands in which state and which states
attention looks at. A new defendant is one small class: ``values_and_scores`` and ``carrying``; how it stands to the truth is
measured, not declared. Decoys are places, not words: the first token that the rule does not read. ``Layered`` is a Transformer
that reads, state by state, what a pooled defendant reads.

Legend: B texts, T tokens, H hidden.
"""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention import MultiHeadAttention, Projection, Softmax, Sparsemax, Uniform
from attest.core.attention.pooled import pool
from attest.experiments.judges.texts import FILLERS, MINUS, NOT, OTHER_MINUS, OTHER_PLUS, PLUS, RULES, VOCABULARY

SHARP = 8.0
"""A logit that leaves the other tokens of a text less than 0.02 together."""
NUISANCE = 4
GAIN = 4.0


class Read(NamedTuple):
    """The result of applying a rule to the embedded words of texts."""

    words: Tensor
    """``(B, T)``, 1 at words with a sign or a place in an order."""
    deciding: Tensor
    """``(B, T)``, 1 at all that the rule reads: the words, and "not" before one."""
    local: Tensor
    """``(B, T)``, what each deciding word says; the sign of their sum is the decision."""
    margin: Tensor
    """``(B, 1)``, the decision of the whole text, in [-1, 1]."""
    decoy: Tensor
    """``(B, T)``, 1 at the first token that the rule does not read."""
    mask: Tensor
    """bool ``(B, T)``."""


def read(rule: str, embedded: Tensor, mask: Tensor) -> Read:
    """Apply a rule to the embedded words ``(B, T, E)`` of texts."""
    sign, first, second, negates = embedded[..., :4].unbind(dim=-1)
    words = first + second
    deciding = words
    count = words.sum(dim=-1, keepdim=True).clamp(min=1)
    local, margin = sign, sign.sum(dim=-1, keepdim=True) / count
    if rule == "majority":
        margin = (GAIN * margin).tanh()
    elif rule == "conjunction":
        local = sign - 0.5 * words
        margin = torch.minimum((sign * first).sum(dim=-1), (sign * second).sum(dim=-1)).unsqueeze(-1)
    elif rule == "negation":
        deciding = words + negates * functional.pad(words[:, 1:], (0, 1))
        margin = (sign * (1 - 2 * functional.pad(negates[:, :-1], (1, 0)))).sum(dim=-1, keepdim=True)
        local = margin * deciding
    elif rule == "order":
        margin = 2 * (second * first.cumsum(dim=-1)).sum(dim=-1, keepdim=True) - 1
        local = margin * deciding
    others = mask & (deciding.detach() < 0.5)
    return Read(words, deciding, local, margin, (others & (others.cumsum(dim=-1) == 1)).to(embedded), mask)


class Defendant(nn.Module):
    """A network with hand-set parameters; a subclass defines the value and the score of each state, and which states carry.

    Args:
        rule: one of ``rules``.
    """

    rules: ClassVar[tuple[str, ...]] = RULES
    projection: ClassVar[Projection] = Softmax()
    gain: ClassVar[float] = GAIN
    noise: ClassVar[float] = 1.0

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule
        self.embedding = nn.Embedding(VOCABULARY, 4 + NUISANCE, _weight=_features())
        self.decoder = nn.Linear(2 + NUISANCE, 2)
        with torch.no_grad():
            self.decoder.weight.zero_()[:, 0] = torch.tensor([-0.5, 0.5]) * self.gain
            self.decoder.bias.zero_()

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        """Return the value of each state, what it says, and its score, how much attention looks at it, ``(B, T)`` each."""
        raise NotImplementedError

    def carrying(self, read: Read) -> Tensor:
        """Return which states carry the decision to the output, ``(B, T)``, above 0.5 if so; by default the deciding ones."""
        return read.deciding

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return which states carry the decision to the output, bool ``(B, T)``."""
        return (self.carrying(read(self.rule, self.embedding(tokens), mask)) > 0.5) & mask

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to states ``(B, T, H)``: value, score, nuisance."""
        embedded = self.embedding(tokens)
        values, scores = self.values_and_scores(read(self.rule, embedded, mask))
        return torch.cat([torch.stack([values, scores], dim=-1), self.noise * embedded[..., 4:]], dim=-1)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map states ``(B, T, H)`` to scores ``(B, T)``."""
        return hidden[..., 1]

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map scores ``(B, T)`` to attention ``(B, T)``."""
        return self.projection(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map states ``(B, T, H)`` pooled by weights ``(B, T)`` to logits ``(B, 2)``."""
        return self.decoder(pool(hidden, weights))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return the logits that each state alone would give, ``(B, T, 2)``."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, 2)`` by the four steps."""
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


def _features() -> Tensor:
    """Return the embeddings of all words, ``(26, 8)``: sign, first word, second word, negation, meaningless directions."""
    table = torch.zeros(VOCABULARY, 4 + NUISANCE)
    for word, sign, column in ((PLUS, 1, 1), (MINUS, -1, 1), (OTHER_PLUS, 1, 2), (OTHER_MINUS, -1, 2)):
        table[word, 0], table[word, column] = sign, 1
    table[NOT, 3] = 1
    angles = torch.arange(len(FILLERS)).unsqueeze(-1) * torch.arange(1, NUISANCE + 1)
    table[FILLERS[0] :, 4:] = angles.float().sin()
    return table


class Honest(Defendant):
    """A defendant that looks at the deciding words and passes on what they say."""

    rules = tuple(rule for rule in RULES if rule != "redundant")

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.local, SHARP * read.deciding


class Both(Honest):
    """A defendant that attends to both copies of the deciding word."""

    rules = ("redundant",)


class Either(Honest):
    """A defendant that attends to the first copy of the deciding word."""

    rules = ("redundant",)

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.local, SHARP * self.carrying(read)

    def carrying(self, read: Read) -> Tensor:
        return _first(read.words)


class Saturated(Honest):
    """An honest defendant with a logit so large that gradients vanish and any attention gives the same output."""

    rules = RULES
    gain = 90.0


class Diffuse(Honest):
    """An honest defendant with half of its attention on the deciding words and the other half spread over all others."""

    rules = RULES

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        count = read.deciding.detach().sum(dim=-1, keepdim=True).clamp(min=1)
        others = (read.mask.sum(dim=-1, keepdim=True) - count).clamp(min=1)
        return read.local, (others / count).log() * read.deciding


class Sparse(Honest):
    """An honest defendant with sparsemax, which gives other tokens exactly 0."""

    rules = RULES
    projection = Sparsemax()


class Noisy(Honest):
    """An honest defendant whose states carry large directions that mean nothing."""

    rules = RULES
    noise = 20.0


class Smuggled(Defendant):
    """A network with wrong attention: its encoder moves the decision into a decoy token, which gets the attention."""

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.margin * read.decoy, SHARP * read.decoy

    def carrying(self, read: Read) -> Tensor:
        return read.decoy


class Broadcast(Defendant):
    """A defendant whose encoder writes the decision into every state, while attention looks at a decoy."""

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.margin * read.mask, SHARP * read.decoy

    def carrying(self, read: Read) -> Tensor:
        return read.mask.float()


class Shadow(Defendant):
    """A defendant that attends to a decoy that says nothing; the little attention left for the deciding words decides."""

    gain = GAIN * 300

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.local, 6.0 * read.decoy


class Shifted(Defendant):
    """A defendant whose states stand one place after their words, as those of a BiLSTM may do."""

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return _one_later(read.local * read.words), SHARP * _one_later(read.words)

    def carrying(self, read: Read) -> Tensor:
        return _one_later(read.words)


class Silent(Defendant):
    """A defendant with uniform attention, whose values alone decide."""

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        return read.local * read.mask.sum(dim=-1, keepdim=True), 0 * read.deciding


class Partial(Defendant):
    """A defendant that attends to one of two needed words, into whose state its encoder moves what the other word says."""

    rules = ("conjunction",)

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        first = self.carrying(read)
        return read.margin * first, SHARP * first

    def carrying(self, read: Read) -> Tensor:
        return _first(read.words)


class Absent(Defendant):
    """A defendant that attends to all tokens but the deciding words; what the context lacks decides.

    The states of a text sum to 0, so what is read of the others is the negative of what the deciding words say.
    """

    gain = -GAIN

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        count = read.deciding.detach().sum(dim=-1, keepdim=True).clamp(min=1)
        others = read.mask * (1 - read.deciding)
        return read.margin * (others.detach().sum(dim=-1, keepdim=True) / count * read.deciding - others), -12 * read.deciding

    def carrying(self, read: Read) -> Tensor:
        return read.mask * (1 - read.deciding)


def _one_later(values: Tensor) -> Tensor:
    return functional.pad(values[:, :-1], (1, 0))


def _first(words: Tensor) -> Tensor:
    return words * (words.detach().cumsum(dim=-1) < 1.5)


DEFENDANTS: dict[str, type[Defendant]] = {
    each.__name__.lower(): each
    for each in (
        *(Honest, Saturated, Diffuse, Sparse, Either, Both, Noisy),
        *(Smuggled, Broadcast, Shadow, Shifted, Silent, Partial, Absent),
    )
}
"""By name, those that were meant to be right first."""


VALUE, SCORE, CONTEXT, SIZE = 0, 1, 2, 3


class Residual(nn.Module):
    """A Transformer of residual layers of self-attention that decides by the mean of its last states; a subclass says which.

    A subclass sets ``layers`` and ``decoder`` and offers ``states(tokens, mask)``, what the layers read.
    """

    pools_by_attention = False
    attends_within = True
    layers: nn.ModuleList
    decoder: nn.Linear

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return what the layers read, ``(B, T, H)``."""
        raise NotImplementedError

    def above(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states ``(B, T, H)`` after all layers."""
        for layer in self.layers:
            states = states + layer(states, mask)
        return states

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the states ``(B, T, H)`` after all layers, of tokens and mask ``(B, T)``."""
        return self.above(self.states(tokens, mask), mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return scores of 0, ``(B, T)``, so that states are pooled by their mean."""
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Return uniform weights ``(B, T)``."""
        return Uniform()(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map hidden states pooled by weights ``(B, T)`` to logits ``(B, 2)``."""
        return self.decoder(pool(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, 2)`` by the four steps."""
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


class Layered(Residual):
    """A Transformer of two residual layers of self-attention over the states of a pooled defendant.

    Args:
        defendant: says what stands in which state.
    """

    def __init__(self, defendant: Defendant) -> None:
        super().__init__()
        self.defendant = defendant
        self.layers = nn.ModuleList(_layer() for _ in range(2))
        self.decoder = nn.Linear(SIZE, 2)
        with torch.no_grad():
            self.decoder.weight.zero_()[:, CONTEXT] = torch.tensor([-0.25, 0.25]) * defendant.gain
            self.decoder.bias.zero_()

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the states below both layers that carry the decision, bool ``(B, T)``."""
        return self.defendant.carrying_states(tokens, mask)

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return value, score and an empty context of each token, ``(B, T, 3)``: what the layers read."""
        below = self.defendant.encode(tokens, mask)[..., :CONTEXT]
        return torch.cat([below, torch.zeros_like(below[..., :1])], dim=-1)


def _layer() -> MultiHeadAttention:
    """Return attention that reads the scores and values of tokens from two places of their states, and writes into a third."""
    layer = MultiHeadAttention(SIZE, 1, Softmax())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.query.bias[SCORE] = SIZE**0.5
        layer.key.weight[SCORE, SCORE] = 1
        layer.value.weight[VALUE, VALUE] = 1
        layer.output.weight[CONTEXT, VALUE] = 1
    return layer


class _HonestOnAll(Honest):
    """An honest defendant for all rules; where a deciding word has two copies, it attends to both."""

    rules = RULES


LAYERED: dict[str, type[Defendant]] = {"honest": _HonestOnAll, "smuggled": Smuggled, "broadcast": Broadcast}
"""The pooled defendants that Transformers carry, by name."""
