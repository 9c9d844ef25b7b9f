"""The network of Jain & Wallace 2019 for question answering and inference, which reads a passage and a question.

Legend: B batch, T tokens of a row (passage, padding, candidates, question), Q tokens of the longest question,
H hidden, C logits.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from attest.core.attention import AdditiveScoring, PooledAttention, Projection
from attest.core.attention.pooled import pool
from attest.core.errors import AttestError
from attest.models.networks.pooling import PoolsByAttention
from attest.models.networks.recurrent import BiLSTM
from attest.models.networks.tokens import PADDING

IMPOSSIBLE = -1e4
"""The logit of a class that is not among the possible answers of a question. Its probability becomes 0, but the logit is
finite, so that differences of logits stay defined."""


class ConditionedClassifier(PoolsByAttention):
    r"""A classifier of passages; both its attention over the passage and its decoder depend on a question.

    .. math:: \alpha = \phi(s(h_1, Q), \dots), \qquad
        \hat y = W \tanh(W_p \sum_i \alpha_i h_i + b_p + W_q Q + b_q) + b

    Scores s are additive, :math:`v^\top \tanh(W_1 h_i + b_1 + W_2 Q + b_2)`, or dot products :math:`h_i^\top Q / \sqrt H`.
    Passage and question have separate encoders with separate embeddings; Q is the ``summary`` of the question encoder.

    A row of tokens ends with the question, where the mask is False, so that experiments change only tokens of the passage. The
    last column of the hidden states is the encoding of the question; it gets no attention weight.

    If passages name the possible answers, all other answers have probability 0. These candidates precede the question in the
    row; columns of the hidden states before the last one mark which answers are possible.

    Args:
        vocab_size: number of token ids.
        outputs: C, number of logits: 1 for a binary task decided by one sigmoid, else the number of classes.
        encoder: makes an encoder from the vocabulary size; it offers ``summary(tokens, mask)``.
        scoring: makes the scoring function from the size of the hidden states; it offers ``take_queries()``.
        projection: takes scores to attention.
        among_candidates: whether passages name the answers that are possible.
    """

    reads_questions = True
    """Whether the network reads a question beside each text: yes, so it can only be trained on data with a question for each
    text."""

    def __init__(
        self,
        vocab_size: int,
        outputs: int,
        encoder: Callable[[int], nn.Module] = BiLSTM,
        scoring: Callable[[int], nn.Module] = AdditiveScoring,
        projection: Projection | None = None,
        among_candidates: bool = False,
    ) -> None:
        super().__init__()
        if among_candidates and outputs == 1:
            raise AttestError(
                "the data have two classes; expected three or more for `among_candidates`, which limits the answers to those "
                "that a passage names. Leave among_candidates out."
            )
        self.vocab_size, self.outputs = vocab_size, outputs
        self.among_candidates = among_candidates
        self.encoder = encoder(vocab_size)
        self.question_encoder = encoder(vocab_size)
        size = cast(int, self.encoder.output_size)
        self.attention = PooledAttention(size, scoring, projection)
        cast(Any, self.attention.scoring).take_queries()
        self.of_passage, self.of_question = nn.Linear(size, max(size // 2, 1)), nn.Linear(size, max(size // 2, 1))
        self.decoder = nn.Linear(max(size // 2, 1), outputs)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, H)``; the last column encodes the question.

        Args:
            tokens: passage, padding (0), candidates if any, question; a candidate has the id ``vocab_size`` + its class.
            mask: bool ``(B, T)``, True at the passage.
        """
        passage = self.encoder(tokens.masked_fill(~mask, PADDING), mask)
        words = tokens.masked_fill(tokens >= self.vocab_size, PADDING)
        question = cast(Any, self.question_encoder).summary(*questions_of(words, mask))
        beside = torch.cat([self._noted(tokens, mask, question), question.unsqueeze(1)], dim=1)
        return torch.cat([passage[:, : -beside.shape[1]], beside], dim=1)

    def _noted(self, tokens: Tensor, mask: Tensor, question: Tensor) -> Tensor:
        """Return K extra columns of hidden states, ``(B, K, H)``, that mark which of the C answers are possible."""
        size = question.shape[-1]
        noted = question.new_zeros(len(tokens), self._columns * size)
        if self._columns:
            columns = self._columns + 1
            if mask.shape[1] < columns or mask[:, -columns:].any():
                raise AttestError(
                    f"`among_candidates` with {self.outputs} classes needs {columns} token positions after each passage, and "
                    "some rows have fewer; expected longer questions or larger hidden states. Give the encoder a larger "
                    "hidden_size."
                )
            noted[:, : self.outputs] = candidates_of(tokens, self.vocab_size, self.outputs).to(noted.dtype)
        return noted.view(len(tokens), self._columns, size)

    @property
    def _columns(self) -> int:
        size = cast(int, self.encoder.output_size)
        return -(-self.outputs // size) if self.among_candidates else 0

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to scores ``(B, T)``, meaningless at padding."""
        return self.attention.score(hidden, mask, hidden[:, -1])

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and weights ``(B, T)``, which are 0 outside the passage, to logits ``(B, C)``."""
        logits = self.decoder(torch.tanh(self.of_passage(pool(hidden, weights)) + self.of_question(hidden[:, -1])))
        if not self._columns:
            return logits
        possible = hidden[:, -1 - self._columns : -1].flatten(1)[:, : self.outputs] > 0.5
        return logits.masked_fill(~possible, IMPOSSIBLE)


def questions_of(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the questions in rows of token ids ``(B, T)``: their token ids, int64 ``(B, Q)``, and their mask."""
    if mask[:, -1].any():
        raise AttestError(
            "some texts have no question; expected a question at the end of each row, where the mask is False. Give each text "
            "a question."
        )
    lengths = ((tokens != PADDING) & ~mask).sum(dim=-1, keepdim=True)
    position = torch.arange(int(lengths.max()), device=tokens.device)
    real = position < lengths
    start = tokens.shape[-1] - lengths
    return tokens.gather(-1, (start + position).where(real, 0)).masked_fill(~real, PADDING), real


def candidates_of(tokens: Tensor, vocab_size: int, classes: int) -> Tensor:
    """Return which classes each row of token ids ``(B, T)`` names as possible answers, bool ``(B, C)``."""
    named = tokens >= vocab_size
    if not named.any(dim=-1).all():
        raise AttestError(
            "the passages do not name the possible answers; expected the possible answers (candidates) in each row, before "
            "the question. Leave among_candidates out, or give each text its candidates."
        )
    possible = torch.zeros(len(tokens), classes + 1, dtype=torch.bool, device=tokens.device)
    return possible.scatter(1, (tokens - vocab_size).where(named, classes), True)[:, :classes]
