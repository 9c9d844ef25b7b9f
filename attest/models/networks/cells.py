"""One step of a recurrent network, for many readers at once: an LSTM's and a GRU's.

The input half of the gates belongs to the token and is computed once; a step is one recurrent product and the gates. The
states are changed in place, and tanh(x) is written 2 sigmoid(2 x) - 1, which torch computes ten times faster on a CPU.

Legend: B batch, T tokens, V readers of the same token, H hidden units, G gates.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]
"""Tensors ``(V, B, H)``, the hidden state first."""


class Cell(Protocol):
    """A direction of a recurrent network, one step at a time."""

    def inputs(self, sequences: Tensor) -> Tensor:
        """Float ``(B, T, E)`` -> what each step adds to the gates, ``(T, B, G)``."""

    def start(self) -> State:
        """The state before the first token, each tensor ``(H,)``."""

    def step(self, state: State, inputs: Tensor) -> None:
        """Read a token of each text, in place: ``state`` of tensors ``(V, B, H)``, ``inputs (B, G)``."""


class LstmCell:
    """One layer, one direction of an ``nn.LSTM``.

    Args:
        lstm: whose parameters.
        first: float ``(E,)``, read before every text.
    """

    def __init__(self, lstm: nn.LSTM, first: Tensor) -> None:
        weight_ih, weight_hh, bias_ih, bias_hh = lstm.all_weights[0]
        self.of_token, self.bias = product_with(_candidate_doubled(weight_ih)), _candidate_doubled(bias_ih + bias_hh)
        self.recurrent = product_with(_candidate_doubled(weight_hh))
        self.first, self.size = first, lstm.hidden_size

    def inputs(self, sequences: Tensor) -> Tensor:
        return _inputs(sequences, self.of_token, self.bias)

    def start(self) -> State:
        state = tuple(self.bias.new_zeros(2, 1, 1, self.size))
        self.step(state, self.inputs(self.first.expand(1, 1, -1))[0])
        return tuple(each[0, 0] for each in state)

    def step(self, state: State, inputs: Tensor) -> None:
        hidden, cell = state  # twice the cell: only its tanh is ever asked for
        gates = self.recurrent(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1).add_(inputs).sigmoid_()
        keep, forget, candidate, show = gates.chunk(4, dim=-1)
        cell.mul_(forget).addcmul_(keep, candidate.sub_(0.5), value=4)
        torch.sigmoid(cell, out=hidden).sub_(0.5).mul_(show).mul_(2)


class GruCell:
    """One layer, one direction of an ``nn.GRU``, from a state of zeros."""

    def __init__(self, gru: nn.GRU) -> None:
        weight_ih, weight_hh, bias_ih, bias_hh = gru.all_weights[0]
        self.size = gru.hidden_size
        gates = 2 * self.size
        self.bias = torch.cat([bias_ih[:gates] + bias_hh[:gates], bias_ih[gates:]])
        self.candidate_bias = bias_hh[gates:]  # inside what the reset gate multiplies
        self.of_token, self.recurrent = product_with(weight_ih), product_with(weight_hh)

    def inputs(self, sequences: Tensor) -> Tensor:
        return _inputs(sequences, self.of_token, self.bias)

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


def _inputs(sequences: Tensor, product: Callable[[Tensor], Tensor], bias: Tensor) -> Tensor:
    """``(B, T, E)`` -> ``(T, B, G)``."""
    rows = sequences.transpose(0, 1).flatten(0, 1)
    return product(rows).add_(bias).unflatten(0, (sequences.shape[1], -1))


def _candidate_doubled(gates: Tensor) -> Tensor:
    """Double the third quarter of ``(G, ...)``, whose tanh is asked for."""
    keep, forget, candidate, show = gates.chunk(4)
    return torch.cat([keep, forget, 2 * candidate, show])


def product_with(weight: Tensor) -> Callable[[Tensor], Tensor]:
    """The product of rows ``(N, H)`` with one weight ``(G, H)``, again and again: ``(N, G)``.

    On a CPU oneDNN's, which uses AVX-512 wherever there is AVX-512; torch's own takes MKL's, which on AMD stops at AVX2: 105
    against 225 GFLOP/s in float32 on a Zen 5 core.
    """
    if weight.device.type == "cpu" and weight.dtype == torch.float32 and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
        return lambda rows: torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")
    transposed = weight.t()
    return lambda rows: rows @ transposed
