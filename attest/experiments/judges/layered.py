"""Transformers of two layers and one head that read, state by state, what a pooled defendant reads.

Every row attends by the defendant's scores in both layers and adds up its values; the mean of all rows decides.
"""

import torch
from torch import Tensor, nn

from attest.core.attention import MultiHeadAttention, Softmax, Uniform
from attest.core.attention.pooled import pool
from attest.experiments.judges.defendants import Broadcast, Defendant, Honest, Smuggled
from attest.experiments.judges.texts import RULES

VALUE, SCORE, CONTEXT, SIZE = 0, 1, 2, 3


class Layered(nn.Module):
    """Two residual layers of self-attention over the states of a pooled defendant.

    Args:
        defendant: says what stands in which state.
    """

    pools_by_attention = False
    attends_within = True

    def __init__(self, defendant: Defendant) -> None:
        super().__init__()
        self.defendant = defendant
        self.layers = nn.ModuleList(_layer() for _ in range(2))
        self.decoder = nn.Linear(SIZE, 2)
        with torch.no_grad():
            self.decoder.weight.zero_()[:, CONTEXT] = torch.tensor([-0.25, 0.25]) * defendant.gain
            self.decoder.bias.zero_()

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The states below both layers that carry the decision, bool ``(B, T)``."""
        return self.defendant.carrying_states(tokens, mask)

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Value, score and an empty context of each token, ``(B, T, 3)``: what the layers read."""
        below = self.defendant.encode(tokens, mask)[..., :CONTEXT]
        return torch.cat([below, torch.zeros_like(below[..., :1])], dim=-1)

    def above(self, states: Tensor, mask: Tensor) -> Tensor:
        """States ``(B, T, 3)`` after both layers."""
        for layer in self.layers:
            states = states + layer(states, mask)
        return states

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids int64 ``(B, T)``, mask bool ``(B, T)`` -> hidden states ``(B, T, 3)``."""
        return self.above(self.states(tokens, mask), mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Zeros ``(B, T)``: the mean pools."""
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Uniform weights ``(B, T)``."""
        return Uniform()(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Hidden states pooled by weights ``(B, T)`` -> logits ``(B, 2)``."""
        return self.decoder(pool(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The four steps in a row."""
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


def _layer() -> MultiHeadAttention:
    """Scores of every row are the states' own, values what they say; the output goes into the context."""
    layer = MultiHeadAttention(SIZE, 1, Softmax())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.query.bias[SCORE] = SIZE**0.5
        layer.key.weight[SCORE, SCORE] = 1
        layer.value.weight[VALUE, VALUE] = 1
        layer.output.weight[CONTEXT, VALUE] = 1
    return layer


class _Honest(Honest):
    """Of two copies it looks at both."""

    rules = RULES


LAYERED: dict[str, type[Defendant]] = {"honest": _Honest, "smuggled": Smuggled, "broadcast": Broadcast}
"""The pooled defendants that Transformers carry, by name."""
