"""The wrapper of a model that marks the answer to a question in a passage, as a decision between two answers.

An instance is a question with a passage. The decision is whether the model gives the same answer as for the unchanged text.
It has two logits: the first is that of the best other span, the second that of the span with the unchanged answer.

Legend: B batch, T tokens.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from attest.models.pretrained.network import PretrainedNetwork

LONGEST_ANSWER = 30
"""The most tokens of an answer."""
NO_SPAN = -1e4
"""The logit of an impossible span, which float16 can represent."""
PASSAGE, BEGINS, ENDS, WHOLE = 1, 2, 3, 4
"""How the tokens of a passage are marked: some token of it, the first and the last of the answer, or both at once."""


class Span(NamedTuple):
    """The positions of the first and the last token of each of B answers."""

    begins: Tensor
    """int64 ``(B,)``: the place of the first token."""
    ends: Tensor
    """int64 ``(B,)``: the place of the last token, which belongs to the answer."""


class SpanNetwork(PretrainedNetwork):
    """A Transformer that answers a question by selecting a span of a passage.

    The role of a token in the answer is part of its id, so that it moves with the token. An answer whose first or last token
    is erased cannot be given. While ``knows_answers`` is False, logits are those of the model, ``(B, T, 2)``.
    """

    knows_answers = False
    """Whether the answers are marked in the token ids."""

    @property
    def _noted(self) -> bool:
        return True

    def _logits_in(self, output: Any) -> Tensor:
        return torch.stack([output.start_logits, output.end_logits], dim=-1)

    def marked(self, tokens: Tensor, passage: Tensor, answer: Span) -> Tensor:
        """Return token ids ``(B, T)`` that also say which tokens belong to the passage and to the answer."""
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        begins, ends = (places == each.unsqueeze(-1) for each in answer)
        marks = passage.long().masked_fill(begins, BEGINS).masked_fill(ends, ENDS).masked_fill(begins & ends, WHOLE)
        return tokens + self.rows * self.segments * marks

    def answered(self, tokens: Tensor, mask: Tensor, passage: Tensor) -> Span:
        """Find in each passage, bool ``(B, T)``, the span with the largest sum of start and end logits."""
        found = _sums(self(tokens, mask), passage)
        best = found.flatten(1).argmax(dim=-1)
        return Span(best // tokens.shape[-1], best % tokens.shape[-1])

    def _asked(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """Return two logits, ``(B, 2)``: of the best other answer, then of the answer that ``marked`` encoded in the ids."""
        marks = tokens // (self.rows * self.segments)
        if not self.knows_answers:
            return logits
        marks = marks * self.current.real
        sums = _sums(logits, marks > 0)
        begins, ends = (marks == BEGINS) | (marks == WHOLE), (marks == ENDS) | (marks == WHOLE)
        same = begins.unsqueeze(-1) & ends.unsqueeze(-2)
        given = sums.masked_fill(~same, NO_SPAN).flatten(1).amax(dim=-1)
        other = sums.masked_fill(same, NO_SPAN).flatten(1).amax(dim=-1)
        return torch.stack([other.clamp_min(NO_SPAN / 2), given], dim=-1)


def _sums(logits: Tensor, passage: Tensor) -> Tensor:
    """Return the logits ``(B, T, T)`` of all spans of a passage, indexed by their first and last token."""
    found = logits[..., 0].unsqueeze(-1) + logits[..., 1].unsqueeze(-2)
    spans = torch.ones_like(found[0], dtype=torch.bool).triu().tril(LONGEST_ANSWER - 1)
    return found.masked_fill(~(spans & passage.unsqueeze(-1) & passage.unsqueeze(-2)), NO_SPAN)
