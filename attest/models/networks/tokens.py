"""The operations on token sequences that all encoders share (look up, wrap, reverse), and two encoders without context."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention.interventions import Readout, without_context

PADDING = 0
"""Token id of padding in every vocabulary; its embedding is zero and receives no gradient."""


EMBEDDING_STD = 0.1
"""The standard deviation of randomly initialised embeddings, close to that of pretrained word vectors. With 1, the default of
torch, accuracy on SST is two to four points lower."""


def embedding(vocab_size: int, size: int, std: float = EMBEDDING_STD) -> nn.Embedding:
    """Return an embedding layer with random values from N(0, ``std``²); the vector of padding is zero."""
    lookup = nn.Embedding(vocab_size, size, padding_idx=PADDING)
    with torch.no_grad():
        lookup.weight.mul_(std)
    return lookup


def boundaries(size: int, std: float = EMBEDDING_STD) -> nn.Parameter:
    """Return learnable vectors for ``<SOS>`` and ``<EOS>``, ``(2, E)``, with random values from N(0, ``std``²)."""
    return nn.Parameter(torch.randn(2, size) * std)


def between_boundaries(embedded_BTE: Tensor, boundaries_2E: Tensor, lengths_B: Tensor) -> Tensor:
    """Wrap each text in ``<SOS> … <EOS>``: ``(B, T, E)`` -> ``(B, T + 2, E)``.

    ``<EOS>`` comes right after the last real token; padding follows, and is zero where the input is zero.
    """
    start_E, end_E = boundaries_2E
    shifted_BSE = functional.pad(embedded_BTE, (0, 0, 1, 1))  # S = T + 2
    position_S1 = torch.arange(shifted_BSE.shape[1], device=lengths_B.device).unsqueeze(-1)
    ended_BSE = torch.where(position_S1 == (lengths_B + 1)[:, None, None], end_E, shifted_BSE)
    return torch.where(position_S1 == 0, start_E, ended_BSE)


def reversal(lengths_B: Tensor, size: int) -> Tensor:
    """Return indices ``(B, size)`` that reverse each row within its own length and leave padding in place."""
    position_S = torch.arange(size, device=lengths_B.device)
    mirrored_BS = lengths_B.unsqueeze(-1) - 1 - position_S
    return torch.where(mirrored_BS >= 0, mirrored_BS, position_S)


def reverse(sequences_BSE: Tensor, reversal_BS: Tensor) -> Tensor:
    """Reverse each row of ``sequences_BSE`` with the indices ``(B, S)`` that ``reversal`` returned."""
    batch, length, _ = sequences_BSE.shape
    start_B1 = torch.arange(0, batch * length, length, device=reversal_BS.device).unsqueeze(-1)
    return sequences_BSE.flatten(0, 1).index_select(0, (start_B1 + reversal_BS).flatten()).view_as(sequences_BSE)


class _WithoutContext(nn.Module):
    def read_without_each(self, tokens: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Apply ``readout`` to the hidden states once and repeat the result for each removed token: ``(B, T, T, F)``."""
        return without_context(readout(self(tokens, mask)))


class Embedded(_WithoutContext):
    """An encoder whose hidden states are the embeddings themselves.

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
        """Map token ids int64 ``(B, T)`` to their embeddings ``(B, T, E)``."""
        return self.dropout(self.embedding(tokens))


class Average(_WithoutContext):
    r"""An encoder that projects each token by itself: :math:`h_i = \tanh(W x_i + b)`.

    A hidden state depends on its token alone, so attention to it is attention to its token.

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
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, hidden_size)``."""
        return torch.tanh(self.projection(self.embedding(tokens)))
