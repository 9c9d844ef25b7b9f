"""No encoder at all: Serrano & Smith 2019's control, attention over embeddings."""

from torch import Tensor, nn

from attest.attention.reading import Reading, without_context
from attest.networks.tokens import embedding


class Embedded(nn.Module):
    """Hidden states are the embeddings themselves.

    Args:
        vocab_size: number of token ids.
        embedding_size: E, which is also the size of the hidden states.
        dropout: of the embedded input, in training.
    """

    def __init__(self, vocab_size: int, embedding_size: int = 200, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        self.output_size = embedding_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Look up int64 ``tokens (B, T)``; returns ``(B, T, E)``."""
        return self.dropout(self.embedding(tokens))

    def read_without_each(self, tokens: Tensor, mask: Tensor, reading: Reading) -> Tensor:
        """What is read off the hidden states of every text without each of its tokens: what it is with all of them."""
        return without_context(reading(self(tokens, mask)))
