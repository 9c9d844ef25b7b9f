"""Bidirectional recurrent encoders: the LSTM of Jain & Wallace 2019 and the GRU of Serrano & Smith 2019."""

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Readout
from attest.models.networks.recurrent_without_each import GruCell, LstmCell, read_without_each
from attest.models.networks.tokens import EMBEDDING_STD, between_boundaries, boundaries, embedding, reversal, reverse


class BiLSTM(nn.Module):
    r"""An encoder that reads a text in both directions: :math:`h_i = [\overrightarrow{h}_i; \overleftarrow{h}_i]`.

    Every text is wrapped in ``<SOS> … <EOS>``, learned vectors that the LSTM reads and does not return, so that nothing can
    attend to them. Two one-directional LSTMs on padded input are faster on a CPU than a packed bidirectional one.

    Args:
        vocab_size: number of token ids, including padding (0) and unknown (1).
        embedding_size: E, embedding dimension.
        hidden_size: hidden units a direction; hidden states have twice as many.
        embedding_std: standard deviation of the randomly initialised embeddings.
    """

    def __init__(
        self, vocab_size: int, embedding_size: int = 300, hidden_size: int = 128, embedding_std: float = EMBEDDING_STD
    ) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size, embedding_std)
        self.boundaries = boundaries(embedding_size, embedding_std)
        self.forward_lstm = nn.LSTM(embedding_size, hidden_size, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding_size, hidden_size, batch_first=True)
        self.output_size = 2 * hidden_size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, 2 * hidden_size)``, which are arbitrary at padding."""
        return torch.cat(self._read(tokens, mask), dim=-1)[:, 1:-1]

    def summary(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the last hidden state of each direction, ``(B, 2 * hidden_size)``, the forward direction first."""
        onward_BSH, backward_BSH = self._read(tokens, mask)
        row_B = torch.arange(len(mask), device=mask.device)
        return torch.cat([onward_BSH[row_B, mask.sum(dim=-1) + 1], backward_BSH[:, 0]], dim=-1)

    def _read(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        lengths_B = mask.sum(dim=-1)
        wrapped_BSE = between_boundaries(self.embedding(tokens), self.boundaries, lengths_B)  # S = T + 2
        reversal_BS = reversal(lengths_B + 2, wrapped_BSE.shape[1])

        onward_BSH, _ = self.forward_lstm(wrapped_BSE)
        backward_BSH, _ = self.backward_lstm(reverse(wrapped_BSE, reversal_BS))
        return onward_BSH, reverse(backward_BSH, reversal_BS)

    @torch.no_grad()
    def read_without_each(self, tokens: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each token of each text in turn; return ``readout`` of the new hidden states, ``(B, T, T, F)``."""
        start, end = self.boundaries
        onward, backward = LstmCell(self.forward_lstm, start), LstmCell(self.backward_lstm, end)
        return read_without_each(onward, backward, self.embedding(tokens), mask, readout)


class BidirectionalGru(nn.Module):
    """A bidirectional GRU for padded sequences of vectors; hidden states have the size ``2 * hidden_size``."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.forward_gru = nn.GRU(input_size, hidden_size, batch_first=True)
        self.backward_gru = nn.GRU(input_size, hidden_size, batch_first=True)
        self.output_size = 2 * hidden_size

    def forward(self, sequences: Tensor, mask: Tensor) -> Tensor:
        """Map vectors ``(B, T, E)``, padded at the end, to hidden states ``(B, T, 2 * hidden_size)``."""
        reversal_BT = reversal(mask.sum(dim=-1), sequences.shape[1])
        onward_BTH, _ = self.forward_gru(sequences)
        backward_BTH, _ = self.backward_gru(reverse(sequences, reversal_BT))
        return torch.cat([onward_BTH, reverse(backward_BTH, reversal_BT)], dim=-1)

    @torch.no_grad()
    def read_without_each(self, sequences: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each vector of each sequence in turn; return ``readout`` of the new hidden states, ``(B, T, T, F)``."""
        return read_without_each(GruCell(self.forward_gru), GruCell(self.backward_gru), sequences, mask, readout)


class BiGRU(nn.Module):
    """An encoder that reads a text in both directions with a GRU, from Serrano & Smith's flat network (FLAN).

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
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, 2 * hidden_size)``, which are arbitrary at padding."""
        return self.gru(self.dropout(self.embedding(tokens)), mask)

    def read_without_each(self, tokens: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each token of each text in turn; return ``readout`` of the new hidden states, ``(B, T, T, F)``."""
        return self.gru.read_without_each(self.dropout(self.embedding(tokens)), mask, readout)
