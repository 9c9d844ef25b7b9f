"""The bidirectional GRU of Serrano & Smith 2019: bare, over any sequence, and as an encoder of texts."""

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Reading
from attest.models.networks.cells import GruCell
from attest.models.networks.recurrent_without_each import read_without_each
from attest.models.networks.tokens import embedding, reversal, reverse


class BidirectionalGru(nn.Module):
    """Reads sequences of vectors in both directions; padded, for the reason given in ``BiLSTM``.

    Args:
        input_size: E, size of the vectors.
        hidden_size: hidden units a direction; hidden states have twice as many.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.forward_gru = nn.GRU(input_size, hidden_size, batch_first=True)
        self.backward_gru = nn.GRU(input_size, hidden_size, batch_first=True)
        self.output_size = 2 * hidden_size

    def forward(self, sequences: Tensor, mask: Tensor) -> Tensor:
        """Float ``(B, T, E)``, mask ``(B, T)``, real steps first -> hidden states ``(B, T, 2 * hidden_size)``."""
        reversal_BT = reversal(mask.sum(dim=-1), sequences.shape[1])
        onward_BTH, _ = self.forward_gru(sequences)
        backward_BTH, _ = self.backward_gru(reverse(sequences, reversal_BT))
        return torch.cat([onward_BTH, reverse(backward_BTH, reversal_BT)], dim=-1)

    @torch.no_grad()
    def read_without_each(self, sequences: Tensor, mask: Tensor, reading: Reading) -> Tensor:
        """What is read off the hidden states without each of the vectors: as in ``recurrent_without_each``."""
        return read_without_each(GruCell(self.forward_gru), GruCell(self.backward_gru), sequences, mask, reading)


class BiGRU(nn.Module):
    """Embeds a text and reads it in both directions: the encoder of Serrano & Smith's flat network (FLAN).

    Args:
        vocab_size: number of token ids.
        embedding_size: E, embedding dimension.
        hidden_size: hidden units a direction; hidden states have twice as many.
        dropout: of the embedded input, in training.
    """

    def __init__(self, vocab_size: int, embedding_size: int = 200, hidden_size: int = 50, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        self.gru = BidirectionalGru(embedding_size, hidden_size)
        self.output_size = self.gru.output_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Encode int64 ``tokens (B, T)``; returns hidden states ``(B, T, 2 * hidden_size)``, arbitrary at padding."""
        return self.gru(self.dropout(self.embedding(tokens)), mask)

    def read_without_each(self, tokens: Tensor, mask: Tensor, reading: Reading) -> Tensor:
        """What is read off the hidden states of every text without each of its tokens."""
        return self.gru.read_without_each(self.dropout(self.embedding(tokens)), mask, reading)
