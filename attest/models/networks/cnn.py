"""The convolutional encoder of Jain & Wallace 2019, and its convolutions over sequences of vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention.interventions import Readout, without_context
from attest.core.errors import AttestError
from attest.models.networks.tokens import between_boundaries, boundaries, embedding


class Windows(nn.Module):
    """Convolutions of several widths over padded sequences of vectors, each followed by a relu.

    Args:
        input_size: E, the size of the vectors.
        kernel_sizes: widths of the windows, odd, so that a window has a middle.
        channels: features of each width; hidden states have ``len(kernel_sizes) * channels``.
    Raises:
        AttestError: a width is even.
    """

    def __init__(self, input_size: int, kernel_sizes: Sequence[int] = (3, 5), channels: int = 50) -> None:
        super().__init__()
        self.convolutions = _convolutions(input_size, kernel_sizes, channels)
        self.output_size = len(kernel_sizes) * channels
        self.reach = max(kernel_sizes) // 2

    def forward(self, sequences: Tensor, mask: Tensor) -> Tensor:
        """Map vectors ``(B, T, E)`` to hidden states ``(B, T, output_size)``, which are arbitrary at padding."""
        return _convolved(self.convolutions, sequences * mask.unsqueeze(-1))

    def read_without_each(self, sequences: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each vector of each sequence in turn; return ``readout`` of the new hidden states, ``(B, T, T, F)``."""
        read = without_context(readout(self(sequences, mask))).contiguous()
        return _without_each(self.convolutions, sequences * mask.unsqueeze(-1), read, readout, self.reach, before=0)


class Cnn(nn.Module):
    """An encoder that applies convolutions of several widths to the embedded tokens, each followed by a relu.

    As in ``BiLSTM``, ``<SOS>`` and ``<EOS>`` are learned vectors that nothing can attend to; zeros follow outside of them.

    Args:
        vocab_size: number of token ids.
        embedding_size: E, embedding dimension.
        kernel_sizes: widths of the windows, odd, so that a window has a middle.
        channels: features of each width; hidden states have ``len(kernel_sizes) * channels``.
        wrapped: whether texts are wrapped in ``<SOS> … <EOS>``.
        dropout: of the embedded input, in training.
    Raises:
        AttestError: a width is even.
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
        self.embedding = embedding(vocab_size, embedding_size)
        self.boundaries = boundaries(embedding_size) if wrapped else None
        self.dropout = nn.Dropout(dropout)
        self.convolutions = _convolutions(embedding_size, kernel_sizes, channels)
        self.output_size = len(kernel_sizes) * channels
        self.reach = max(kernel_sizes) // 2
        """The number of tokens on each side of a token that influence its hidden state, through the convolution with the
        widest kernel."""

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, output_size)``, which are arbitrary at padding."""
        convolved_BSH = _convolved(self.convolutions, self._wrapped(tokens, mask))
        return convolved_BSH if self.boundaries is None else convolved_BSH[:, 1:-1]

    def read_without_each(self, tokens: Tensor, mask: Tensor, readout: Readout) -> Tensor:
        """Remove each token of each text in turn; return ``readout`` of the new hidden states, ``(B, T, T, F)``.

        Only the hidden states near the removed token change. The entry ``[b, v, t]`` is the readout at token t of text b
        without its token v; it is arbitrary at t = v and at padding.
        """
        read = without_context(readout(self(tokens, mask))).contiguous()
        before = 0 if self.boundaries is None else 1
        return _without_each(self.convolutions, self._wrapped(tokens, mask), read, readout, self.reach, before)

    def _wrapped(self, tokens: Tensor, mask: Tensor) -> Tensor:
        embedded_BTE = self.dropout(self.embedding(tokens)) * mask.unsqueeze(-1)
        if self.boundaries is None:
            return embedded_BTE
        return between_boundaries(embedded_BTE, self.boundaries, mask.sum(dim=-1))


def _convolutions(input_size: int, kernel_sizes: Sequence[int], channels: int) -> nn.ModuleList:
    if any(size % 2 == 0 for size in kernel_sizes):
        raise AttestError(
            f"kernel_sizes={list(kernel_sizes)} contain an even width, which has no middle token; expected odd widths, "
            "such as 3."
        )
    return nn.ModuleList(nn.Conv1d(input_size, channels, size, padding=size // 2) for size in kernel_sizes)


def _convolved(convolutions: nn.ModuleList, sequences_BSE: Tensor) -> Tensor:
    features = [convolution(sequences_BSE.mT) for convolution in convolutions]
    return functional.relu(torch.cat(features, dim=1)).mT


def _without_each(
    convolutions: nn.ModuleList, sequences: Tensor, read: Tensor, readout: Readout, reach: int, before: int
) -> Tensor:
    """Return ``readout`` of the hidden states of each sequence without each of its vectors, ``(B, T, T, F)``.

    Args:
        sequences: ``(B, S, E)``, zero at padding: what the convolutions read, boundaries included.
        read: ``(B, T, T, F)``, ``readout`` of the whole sequences; changed in place near each vector that is removed.
        before: the number of boundaries before the first vector.
    """
    if reach == 0:
        return read
    size = read.shape[1]
    sides = torch.arange(1, 2 * reach + 1, device=sequences.device)
    around = torch.cat([-sides.flip(0), sides])  # what a gap brings together: the windows of its neighbours see no more
    place_V1 = torch.arange(size, device=sequences.device).unsqueeze(-1)
    padded = functional.pad(sequences, (0, 0, 2 * reach, 2 * reach))
    closed = padded[:, place_V1 + around + 2 * reach + before]
    convolved = _convolved(convolutions, closed.flatten(0, 1))[:, reach:-reach]
    anew = readout(convolved).unflatten(0, (-1, size))  # (B, T, 2 reach, F)
    neighbours_VN = place_V1 + around[reach:-reach]
    inside = (neighbours_VN >= 0) & (neighbours_VN < size)
    variant_VN = place_V1.expand_as(neighbours_VN)
    read[:, variant_VN[inside], neighbours_VN[inside]] = anew[:, inside]
    return read
