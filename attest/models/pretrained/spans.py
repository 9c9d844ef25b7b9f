"""The wrapper of a model that marks the answer to a question in a passage, as a decision between two answers.

An instance is a question with a passage. The decision is whether the model gives the same answer as for the unchanged text.
It has two logits: the first is that of the best other span, the second that of the span with the unchanged answer.

Legend: B batch, T tokens.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attest.models.inputs import Inputs
from attest.models.pretrained.network import PretrainedNetwork

LONGEST_ANSWER = 30
"""The largest number of tokens in a span that counts as a possible answer."""
NO_SPAN = -1e4
"""The logit of a span that cannot be an answer: far below all others, and still representable in float16."""
PASSAGE, BEGINS, ENDS, WHOLE = 1, 2, 3, 4
"""The values of the input ``roles``, which says what each token is: another token of the passage, the first token of the
answer, its last token, or the only token of an answer. 0 stands for all tokens outside the passage."""


class Span(NamedTuple):
    """The positions of the first and the last token of each of B answers."""

    begins: Tensor
    """int64 ``(B,)``: the position of the answer's first token."""
    ends: Tensor
    """int64 ``(B,)``: the position of the answer's last token."""


class SpanNetwork(PretrainedNetwork):
    """A Transformer that answers a question by selecting a span of a passage.

    It reads the role of each token in the answer, ``roles`` int64 ``(B, T)``, beside the tokens. An answer whose first or last
    token is erased cannot be given. Without ``roles`` logits are those of the model, ``(B, T, 2)``.
    """

    asks = "roles"

    def _logits_in(self, output: Any) -> Tensor:
        return torch.stack([output.start_logits, output.end_logits], dim=-1)

    def answered(self, texts: Inputs, passage: Tensor) -> Span:
        """Find in each passage, bool ``(B, T)``, the span with the largest sum of start and end logits."""
        best = _sums(texts.read_by(self), passage).flatten(1).argmax(dim=-1)
        return Span(best // passage.shape[-1], best % passage.shape[-1])

    def _asked(self, logits: Tensor, roles: Tensor | None) -> Tensor:
        """Return two logits, ``(B, 2)``: of the best other answer, then of the answer that ``roles`` mark."""
        if roles is None:
            return logits
        roles = roles * self.current.real
        sums = _sums(logits, roles > 0)
        begins, ends = (roles == BEGINS) | (roles == WHOLE), (roles == ENDS) | (roles == WHOLE)
        same = begins.unsqueeze(-1) & ends.unsqueeze(-2)
        given = sums.masked_fill(~same, NO_SPAN).flatten(1).amax(dim=-1)
        other = sums.masked_fill(same, NO_SPAN).flatten(1).amax(dim=-1)
        return torch.stack([other.clamp_min(NO_SPAN / 2), given], dim=-1)


def roles_in(passage: Tensor, answer: Span) -> Tensor:
    """Return which tokens belong to the passage, bool ``(B, T)``, and to the answer: int64 ``(B, T)``, 0 for no role."""
    places = torch.arange(passage.shape[-1], device=passage.device)
    begins, ends = (places == each.unsqueeze(-1) for each in answer)
    return passage.long().masked_fill(begins, BEGINS).masked_fill(ends, ENDS).masked_fill(begins & ends, WHOLE)


def _sums(logits: Tensor, passage: Tensor) -> Tensor:
    """Return the logits ``(B, T, T)`` of all spans of a passage, indexed by their first and last token."""
    found = logits[..., 0].unsqueeze(-1) + logits[..., 1].unsqueeze(-2)
    spans = torch.ones_like(found[0], dtype=torch.bool).triu().tril(LONGEST_ANSWER - 1)
    return found.masked_fill(~(spans & passage.unsqueeze(-1) & passage.unsqueeze(-2)), NO_SPAN)
