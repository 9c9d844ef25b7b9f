"""The hierarchical encoder of HAN (Yang et al. 2016, as Serrano & Smith 2019 use it), which reads words, then sentences.

Legend: B batch, S sentences of a text, T words of a sentence, N real sentences of a batch, E embedding, H hidden.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from attest.core.attention import AdditiveScoring, PooledAttention, Projection
from attest.core.attention.interventions import Readout
from attest.models.networks.recurrent import BidirectionalGru
from attest.models.networks.tokens import PADDING, embedding


class Hierarchical(nn.Module):
    """An encoder that reads the words of each sentence, pools them by its own attention, then reads the sentences.

    It returns one hidden state for each sentence, so the attention of the classifier is over sentences.

    Args:
        vocab_size: number of token ids; 0 is padding and stands for no word.
        embedding_size: E, embedding dimension.
        hidden_size: hidden units a direction at both levels; hidden states have twice as many.
        scoring: makes the scoring function over words from the size of their hidden states.
        projection: φ over words.
        word_dropout: of the embedded words, in training.
        sentence_dropout: of the pooled sentences, in training.
        encoder: makes the encoder of each level from the size of the vectors that it reads, such as ``Windows``; a
            bidirectional GRU with ``hidden_size`` if not given.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int = 200,
        hidden_size: int = 50,
        scoring: Callable[[int], nn.Module] = AdditiveScoring,
        projection: Projection | None = None,
        word_dropout: float = 0.0,
        sentence_dropout: float = 0.0,
        encoder: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size)
        self.word_dropout, self.sentence_dropout = nn.Dropout(word_dropout), nn.Dropout(sentence_dropout)
        make: Callable[[int], Any] = encoder or partial(BidirectionalGru, hidden_size=hidden_size)
        self.word_gru = make(embedding_size)  # checkpoints know both encoders by these names
        self.word_attention = PooledAttention(self.word_gru.output_size, scoring, projection)
        self.sentence_gru = make(self.word_gru.output_size)
        self.output_size = self.sentence_gru.output_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map word ids int64 ``(B, S, T)`` and the mask of real sentences, ``(B, S)``, to sentence states ``(B, S, H)``.

        Raises:
            ValueError: a real sentence has no word.
        """
        return self.sentence_gru(self._sentences(tokens, mask), mask)

    def read_without_each(self, tokens: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each sentence of each text in turn; return ``readout`` of the new hidden states, ``(B, S, S, F)``."""
        return self.sentence_gru.read_without_each(self._sentences(tokens, mask), mask, readout)

    def _sentences(self, tokens: Tensor, mask: Tensor) -> Tensor:
        embedded_NTE, mask_NT = self.word_dropout(self.embedding(tokens))[mask], tokens[mask] != PADDING
        sentences_NH = self.word_attention(self.word_gru(embedded_NTE, mask_NT), mask_NT)
        sentences_BSH = sentences_NH.new_zeros(*mask.shape, sentences_NH.shape[-1])
        return self.sentence_dropout(sentences_BSH.masked_scatter(mask.unsqueeze(-1), sentences_NH))
