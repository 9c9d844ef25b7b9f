"""The encoder without context of Jain & Wallace 2019, which Wiegreffe & Pinter 2019 call MLP."""

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Reading, without_context
from attest.models.networks.tokens import embedding


class Average(nn.Module):
    r"""Embeds each token and projects it by itself: :math:`h_i = \tanh(W x_i + b)`.

    A hidden state knows nothing of its neighbours, so attention to it is attention to its token. ``<SOS>`` and ``<EOS>`` would
    change nothing and are not there.

    Args:
        vocab_size: number of token ids.
        embedding_size: E, embedding dimension.
        hidden_size: H, size of the hidden states.
    """

    def __init__(self, vocab_size: int, embedding_size: int = 300, hidden_size: int = 128) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size)
        self.projection = nn.Linear(embedding_size, hidden_size)
        self.output_size = hidden_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Encode int64 ``tokens (B, T)``; returns hidden states ``(B, T, hidden_size)``."""
        return torch.tanh(self.projection(self.embedding(tokens)))

    def read_without_each(self, tokens: Tensor, mask: Tensor, reading: Reading) -> Tensor:
        """What is read off the hidden states of every text without each of its tokens: what it is with all of them."""
        return without_context(reading(self(tokens, mask)))
