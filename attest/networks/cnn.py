"""The convolutional encoder of Jain & Wallace 2019."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.networks.tokens import between_boundaries, boundaries, embedding


class Cnn(nn.Module):
    """Embeds a text and sees each token in windows of several widths, relu on each.

    As in ``BiLSTM``, ``<SOS>`` and ``<EOS>`` are learned vectors that windows at the ends of a text see and nothing can attend
    to; beyond them lie zeros, in a batch as in a text alone.

    Args:
        vocab_size: number of token ids.
        embedding_size: E, embedding dimension.
        kernel_sizes: widths of the windows, odd, so that a window has a middle.
        channels: features of each width; hidden states have ``len(kernel_sizes) * channels``.
        wrapped: whether texts are wrapped in ``<SOS> … <EOS>``.
        dropout: of the embedded input, in training.
    Raises:
        ValueError: a width is even.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int = 300,
        kernel_sizes: Sequence[int] = (1, 3, 5, 7),
        channels: int = 32,
        wrapped: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if any(size % 2 == 0 for size in kernel_sizes):
            raise ValueError(f"kernel_sizes={list(kernel_sizes)} have no middle token each; expected odd widths, like 3.")
        self.embedding = embedding(vocab_size, embedding_size)
        self.boundaries = boundaries(embedding_size) if wrapped else None
        self.dropout = nn.Dropout(dropout)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_size, channels, size, padding=size // 2) for size in kernel_sizes
        )
        self.output_size = len(kernel_sizes) * channels

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Encode int64 ``tokens (B, T)``; returns hidden states ``(B, T, output_size)``, arbitrary at padding."""
        embedded_BTE = self.dropout(self.embedding(tokens)) * mask.unsqueeze(-1)
        if self.boundaries is None:
            return self._convolved(embedded_BTE)
        return self._convolved(between_boundaries(embedded_BTE, self.boundaries, mask.sum(dim=-1)))[:, 1:-1]

    def _convolved(self, embedded_BTE: Tensor) -> Tensor:
        features = [convolution(embedded_BTE.mT) for convolution in self.convolutions]
        return functional.relu(torch.cat(features, dim=1)).mT
