"""Networks with hand-set parameters, whose attention is known to be right or wrong.

A ``Defendant`` applies a rule to its embedded words, by differentiable operations. Then it sets what each state contains and
to which states it attends. The class itself attends to the deciding words; ``population.py`` builds the other defendants from
it.

Legend: B texts, T tokens, H hidden.
"""

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention import Projection, Softmax
from attest.core.attention.pooled import pool
from attest.judges.texts import FILLERS, MINUS, NOT, OTHER_MINUS, OTHER_PLUS, PLUS, RULES, VOCABULARY

SHARP = 8.0
"""The attention score of the tokens to which a constructed network attends. The softmax then leaves less than 0.02 of the
attention for all other tokens of a text together."""
NUISANCE = 4
GAIN = 4.0


class Read(NamedTuple):
    """The words that a labelling rule finds in texts, and the labels."""

    words: Tensor
    """float ``(B, T)``: 1 at the words that a labelling rule can read, because they have a sign or belong to an order; 0 at
    all other words and at "not"."""
    deciding: Tensor
    """float ``(B, T)``: 1 at the words that decide the label: every word that the rule reads, and "not" before such a word if
    the rule reads it. Else 0."""
    local: Tensor
    """float ``(B, T)``: what each deciding word adds to the decision. The label is 1 if the sum over the text is above 0."""
    margin: Tensor
    """float ``(B, 1)``, in [-1, 1]: how clearly the rule decides about the whole text, and in which direction; the label is 1
    if it is above 0."""
    mask: Tensor
    """bool ``(B, T)``: True at real tokens."""


def read(rule: str, embedded: Tensor, mask: Tensor) -> Read:
    """Apply a labelling rule to embedded words ``(B, T, E)``, and return the words that the rule finds and the labels."""
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
    return Read(words, deciding, local, margin, mask)


class Defendant(nn.Module):
    """A network with hand-set parameters, whose attention is known to be right or wrong.

    A subclass changes the value and the score of each state, and which states carry the decision.

    Args:
        rule: one of ``rules``.
    """

    rules: ClassVar[tuple[str, ...]] = RULES
    projection: ClassVar[Projection] = Softmax()
    gain: ClassVar[float] = GAIN

    def __init__(self, rule: str) -> None:
        super().__init__()
        self.rule = rule
        self.embedding = nn.Embedding(VOCABULARY, 4 + NUISANCE, _weight=_features())
        self.decoder = nn.Linear(2 + NUISANCE, 2)
        with torch.no_grad():
            self.decoder.weight.zero_()[:, 0] = torch.tensor([-0.5, 0.5]) * self.gain
            self.decoder.bias.zero_()

    def values_and_scores(self, read: Read) -> tuple[Tensor, Tensor]:
        """Return for each state the value from which the network decides, and the attention score, ``(B, T)`` each."""
        return read.local, SHARP * read.deciding

    def carrying(self, read: Read) -> Tensor:
        """Return one number for each hidden state, ``(B, T)``: above 0.5 if the state contains the decision."""
        return read.deciding

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return which hidden states contain the decision, bool ``(B, T)``."""
        return (self.carrying(read(self.rule, self.embedding(tokens), mask)) > 0.5) & mask

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to hidden states ``(B, T, H)``."""
        embedded = self.embedding(tokens)
        values, scores = self.values_and_scores(read(self.rule, embedded, mask))
        return torch.cat([torch.stack([values, scores], dim=-1), embedded[..., 4:]], dim=-1)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return hidden[..., 1]

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.projection(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder(pool(hidden, weights))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return the logits that each state alone would give, ``(B, T, 2)``."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


def _features() -> Tensor:
    """Return the hand-set embeddings of all 26 words of the artificial texts, ``(26, 8)``."""
    table = torch.zeros(VOCABULARY, 4 + NUISANCE)
    for word, sign, column in ((PLUS, 1, 1), (MINUS, -1, 1), (OTHER_PLUS, 1, 2), (OTHER_MINUS, -1, 2)):
        table[word, 0], table[word, column] = sign, 1
    table[NOT, 3] = 1
    angles = torch.arange(len(FILLERS)).unsqueeze(-1) * torch.arange(1, NUISANCE + 1)
    table[FILLERS[0] :, 4:] = angles.float().sin()
    return table
