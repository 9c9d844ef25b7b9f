"""The hidden states of a bidirectional recurrent network for texts from which one token is removed, for every token.

If token v is removed, the forward states before v and the backward states after v do not change. So each direction reads the
text once and keeps its state before every token; the variant without a token starts from the state before this token. One
recurrent product in each step serves many variants; the readout is applied in the same step, and their states are not kept.
On a CPU a text is no longer read once it has ended: the longest comes first, so those that are left stay side by side.

The input's part of the gates is computed once for each token. States are changed in place, and tanh(x) is written
2 sigmoid(2 x) - 1, which torch computes ten times faster on a CPU.

Legend: B batch, T tokens, V variants (T of them), E embedding, H hidden units a direction, G gates,
A features and F numbers of a ``Readout``.
"""

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Readout
from attest.core.memory import bytes_at_once, rows_at_once
from attest.models.networks.tokens import reversal, reverse

State = tuple[Tensor, ...]
"""The state of a recurrent network for V variants of B texts, as a tuple of tensors ``(V, B, H)``: first the hidden state; an
LSTM has a second tensor, twice its cell state."""


class Cell(ABC):
    """One direction of a recurrent network, which reads one token of every text in each step."""

    of_token: Callable[[Tensor], Tensor]
    bias: Tensor

    def inputs(self, sequences: Tensor) -> Tensor:
        """Map vectors ``(B, T, E)`` to their contributions to the G gates in each step, ``(T, B, G)``."""
        rows = sequences.transpose(0, 1).flatten(0, 1)
        return self.of_token(rows).add_(self.bias).unflatten(0, (sequences.shape[1], -1))

    @abstractmethod
    def start(self) -> State:
        """Return the network's state before the first token, as tensors ``(H,)``."""

    @abstractmethod
    def step(self, state: State, inputs: Tensor) -> None:
        """Update in place the states ``(V, B, H)`` of V variants of each text with one token's gate ``inputs (B, G)``."""


class LstmCell(Cell):
    """One direction of a one-layer ``nn.LSTM`` that reads the vector ``first (E,)`` before every text."""

    def __init__(self, lstm: nn.LSTM, first: Tensor) -> None:
        weight_ih, weight_hh, bias_ih, bias_hh = lstm.all_weights[0]
        self.of_token, self.bias = product_with(_candidate_doubled(weight_ih)), _candidate_doubled(bias_ih + bias_hh)
        self.recurrent = product_with(_candidate_doubled(weight_hh))
        self.first, self.size = first, lstm.hidden_size

    def start(self) -> State:
        state = tuple(self.bias.new_zeros(2, 1, 1, self.size))
        self.step(state, self.inputs(self.first.expand(1, 1, -1))[0])
        return tuple(each[0, 0] for each in state)

    def step(self, state: State, inputs: Tensor) -> None:
        hidden, cell = state  # twice the cell: only its tanh is ever asked for
        gates = self.recurrent(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1).add_(inputs).sigmoid_()
        keep, forget, candidate, show = gates.chunk(4, dim=-1)
        cell.mul_(forget).addcmul_(keep, candidate, value=4).sub_(keep, alpha=2)
        torch.addcmul(show, torch.sigmoid(cell, out=hidden), show, value=-2, out=hidden).neg_()


class GruCell(Cell):
    """One direction of a one-layer ``nn.GRU`` that starts every text with a state of zeros."""

    def __init__(self, gru: nn.GRU) -> None:
        weight_ih, weight_hh, bias_ih, bias_hh = gru.all_weights[0]
        self.size = gru.hidden_size
        gates = 2 * self.size
        self.bias = torch.cat([bias_ih[:gates] + bias_hh[:gates], bias_ih[gates:]])
        self.candidate_bias = bias_hh[gates:]  # inside what the reset gate multiplies
        self.of_token, self.recurrent = product_with(weight_ih), product_with(weight_hh)

    def start(self) -> State:
        return (self.bias.new_zeros(self.size),)

    def step(self, state: State, inputs: Tensor) -> None:
        (hidden,) = state
        products = self.recurrent(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1)
        gates, candidate = products.tensor_split([2 * self.size], dim=-1)
        reset, stay = gates.add_(inputs[:, : 2 * self.size]).sigmoid_().chunk(2, dim=-1)
        candidate.add_(self.candidate_bias).mul_(reset).add_(inputs[:, 2 * self.size :])
        candidate.mul_(2).sigmoid_().mul_(2).sub_(1)
        hidden.sub_(candidate).mul_(stay).add_(candidate)


def _candidate_doubled(gates: Tensor) -> Tensor:
    keep, forget, candidate, show = gates.chunk(4)
    return torch.cat([keep, forget, 2 * candidate, show])


def product_with(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function that multiplies rows ``(N, H)`` by a fixed matrix ``(G, H)`` and returns ``(N, G)``."""
    onednn = weight.device.type == "cpu" and weight.dtype == torch.float32 and onednn_is_faster()
    return by_onednn(weight) if onednn else by_torch(weight)


def by_onednn(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Return ``product_with`` for float32 on a CPU, computed by oneDNN."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
    return lambda rows: torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")


def by_torch(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Return ``product_with``, computed by the library that torch uses: on a CPU mostly MKL."""
    transposed = weight.t().contiguous()
    return lambda rows: rows @ transposed


@cache
def onednn_is_faster() -> bool:
    """Return whether oneDNN multiplies faster than MKL: it is twice as fast on AMD's CPUs, and 0.4 to 0.9 times on Intel's."""
    cpu = Path("/proc/cpuinfo")
    name = cpu.read_text() if cpu.exists() else platform.processor()
    return torch.backends.mkldnn.is_available() and "GenuineIntel" not in name


ROWS = 512
"""The number of variants of texts that a recurrent network reads together on a CPU: few enough that their gates stay in the
cache of a core."""
GATES = 4
"""To estimate memory: in one step of the recurrent network, how many numbers exist at once for each component of the gates of
each variant."""


@torch.no_grad()
def read_without_each(onward: Cell, backward: Cell, sequences: Tensor, mask: Tensor, readout: Readout) -> Tensor:
    """Remove each token of each text in turn; return ``readout`` of all new hidden states.

    Args:
        onward, backward: the forward and the backward direction; a hidden state is the forward state, then the backward state.
        sequences: float ``(B, T, E)``.
        mask: bool ``(B, T)``, True at real tokens, which come first.
        readout: the function to apply to hidden states ``(2 H,)``.
    Returns:
        ``(B, T, T, F)``: ``[b, v, t]`` is the readout at token t of text b without its token v; arbitrary, but finite, at
        t = v and at padding.
    """
    lengths_B, order_B = mask.sum(dim=-1).sort(descending=True, stable=True)
    sequences, reversal_BT = sequences[order_B], reversal(lengths_B, mask.shape[1])
    forth, back = _Path(onward, sequences, lengths_B), _Path(backward, reverse(sequences, reversal_BT), lengths_B)
    first, second = readout.weight.chunk(2, dim=-1)
    of_forth, of_back = forth.hidden @ first.t() + readout.bias, back.hidden @ second.t() + readout.bias
    later = forth.read_variants(reverse(of_back, reversal_BT), first, readout)
    earlier = back.read_variants(reverse(of_forth, reversal_BT), second, readout)
    text = torch.arange(len(mask), device=mask.device)[:, None, None]
    earlier = earlier[text, reversal_BT.unsqueeze(2), reversal_BT.unsqueeze(1)]
    position = torch.arange(mask.shape[1], device=mask.device)
    return torch.where((position > position.unsqueeze(-1)).unsqueeze(-1), later, earlier)[order_B.argsort()]


class _Path:
    """The states of one direction of a recurrent network after each token of each text; the longest text comes first."""

    def __init__(self, cell: Cell, sequences: Tensor, lengths_B: Tensor) -> None:
        self.cell, self.inputs_TBG = cell, cell.inputs(sequences)
        size, batch = self.inputs_TBG.shape[:2]
        self.texts = [batch] * size
        """The number of texts to read at each position: on a CPU those that have a token there, on an accelerator all."""
        if lengths_B.device.type == "cpu":
            self.texts = (lengths_B > torch.arange(size).unsqueeze(-1)).sum(dim=-1).tolist()
        self.before: State = tuple(each.repeat(size + 1, batch, 1) for each in cell.start())
        for position in range(size):
            for path in self.before:
                path[position + 1] = path[position]
            cell.step(tuple(path[position + 1 : position + 2] for path in self.before), self.inputs_TBG[position])

    @property
    def hidden(self) -> Tensor:
        """Return the hidden states of the whole texts, ``(B, T, H)``."""
        return self.before[0][1:].transpose(0, 1)

    def read_variants(self, other_BTA: Tensor, weight: Tensor, readout: Readout) -> Tensor:
        """Remove each token in turn; return ``readout`` of the states at all later tokens, ``(B, T, T, F)``.

        Args:
            other_BTA: what the states of the other direction, which do not change, add to the features; the bias is included.
            weight: ``(A, H)``, the part of the readout's weight that belongs to this direction.
        """
        other_TBA, product = other_BTA.transpose(0, 1), product_with(weight)
        size, batch = self.inputs_TBG.shape[:2]
        read = other_BTA.new_zeros(size, size, batch, readout.finish(other_TBA[0].clone()).shape[-1])  # (T, V, B, F)
        on_cpu, gates = other_BTA.device.type == "cpu", self.inputs_TBG[0, 0].nbytes
        together = ROWS if on_cpu else rows_at_once(GATES * gates, bytes_at_once(other_BTA.device))
        block = max(1, together // batch)
        for start in range(0, size, block):
            for position, hidden in self._variants(range(start, min(start + block, size))):
                variants, texts = hidden.shape[:2]
                features = product(hidden.flatten(0, 1)).view(variants, texts, -1).add_(other_TBA[position, :texts])
                numbers = readout.finish(features.flatten(0, 1))
                read[position, start : start + variants, :texts] = numbers.unflatten(0, (variants, texts))
        return read.permute(2, 1, 0, 3)

    def _variants(self, skipped: range) -> Iterator[tuple[int, Tensor]]:
        """Yield each position, with the states ``(V, B, H)`` of V variants of the B texts that are read there.

        Each variant lacks one earlier token.
        """
        state = tuple(path.new_empty(len(skipped), *path.shape[1:]) for path in self.before)
        for position in range(skipped.start + 1, len(self.inputs_TBG)):
            texts = self.texts[position]
            if not texts:
                return
            if texts < state[0].shape[1]:
                state = tuple(each[:, :texts].contiguous() for each in state)
            if position - 1 in skipped:
                for each, path in zip(state, self.before, strict=True):
                    each[position - 1 - skipped.start] = path[position - 1, :texts]
            live = tuple(each[: position - skipped.start] for each in state)
            self.cell.step(live, self.inputs_TBG[position, :texts])
            yield position, live[0]
