"""Reading a text once for every token that might be missing, as a bidirectional LSTM can.

Without token t the forward LSTM's states before t and the backward LSTM's states after t are what they were. So each
direction reads the text once, and at every step a new variant, the one that skips this token, branches off. The input half
of the gates belongs to the token and is computed once; what remains is one recurrent product a step for all variants.

Legend: B batch, T tokens, V variants, H hidden units a direction, G = 4 H gates.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from attest.networks.bilstm import BiLSTM


@torch.no_grad()
def encode_without_each(encoder: "BiLSTM", tokens: Tensor, mask: Tensor, removed: range) -> Tensor:
    """Hidden states of every text without each of its tokens.

    Args:
        encoder: the bidirectional LSTM.
        tokens, mask: int64 and bool ``(B, T)``, T at least 2.
        removed: V consecutive positions, each the one that a variant lacks.
    Returns:
        ``(V, B, T - 1, 2 H)``, equal to encoding the shortened texts up to rounding; arbitrary at padding and where a
        variant lacks a token that is not there.
    """
    embedded = encoder.embedding(tokens)
    start, end = encoder.boundaries
    size, length = encoder.output_size // 2, tokens.shape[1]
    states = embedded.new_empty(len(removed), len(tokens), length - 1, encoder.output_size)
    _read_onward(_Reader(encoder.forward_lstm, start, embedded, len(removed)), removed, states[..., :size])
    _read_backward(_Reader(encoder.backward_lstm, end, embedded, len(removed)), mask, removed, states[..., size:])
    return states


def _read_onward(reader: "_Reader", removed: range, states: Tensor) -> None:
    """Fill ``states (V, B, T - 1, H)``. The text is the reader's first row; variants follow, branching off in their order."""
    branched = 0
    for position in range(states.shape[2] + 1):
        if position in removed:
            reader.branch_off(source=0, target=branched + 1)
        reader.step(position, slice(0, branched + 1))
        states[:branched, :, position - 1] = reader.hidden[1 : branched + 1]
        branched += position in removed
        if branched < len(removed):
            states[branched:, :, position] = reader.hidden[0]


def _read_backward(reader: "_Reader", mask: Tensor, removed: range, states: Tensor) -> None:
    """Fill ``states`` from the last position to the first. The text is the reader's last row; the last variant is first to
    branch off. Shorter texts begin later: at padding nothing is read."""
    waiting = text = len(removed)
    for position in reversed(range(states.shape[2] + 1)):
        if position in removed:
            reader.branch_off(source=text, target=waiting - 1)
        reader.step(position, slice(waiting, text + 1), mask[:, position])
        if waiting < text:
            states[waiting:, :, position] = reader.hidden[waiting:text]
        waiting -= position in removed
        states[:waiting, :, position - 1] = reader.hidden[text]


class _Reader:
    """One direction, reading a text and its variants side by side.

    Args:
        lstm: one layer, one direction.
        start: float ``(E,)``, what is read before the text.
        embedded: float ``(B, T, E)``.
        variants: V.
    """

    def __init__(self, lstm: nn.LSTM, start: Tensor, embedded: Tensor, variants: int) -> None:
        weight_ih, weight_hh, bias_ih, bias_hh = lstm.all_weights[0]
        self.recurrent_HG = _doubled_candidate(weight_hh.t())
        self.inputs_BTG = _doubled_candidate(embedded @ weight_ih.t() + (bias_ih + bias_hh))
        _, (hidden, cell) = lstm(start.expand(1, 1, -1))
        shape = (variants + 1, len(embedded), lstm.hidden_size)
        self.hidden, self.cell = (state.expand(shape).contiguous() for state in (hidden, cell))

    def branch_off(self, source: int, target: int) -> None:
        """Let a variant go on from where the text is now."""
        self.hidden[target], self.cell[target] = self.hidden[source], self.cell[source]

    def step(self, position: int, rows: slice, real: Tensor | None = None) -> None:
        """Read a token in these rows, in place; instances that are not ``real`` (B,) there stay as they are."""
        hidden, cell = self.hidden[rows], self.cell[rows]
        stay = None if real is None or bool(real.all()) else (hidden.clone(), cell.clone())
        gates = (hidden.flatten(0, 1) @ self.recurrent_HG).view(*hidden.shape[:2], -1).add_(self.inputs_BTG[:, position])
        keep, forget, candidate, show = gates.sigmoid_().chunk(4, dim=-1)
        cell.mul_(forget).addcmul_(keep, candidate, value=2).sub_(keep)
        torch.mul(cell, 2, out=hidden).sigmoid_().mul_(2).sub_(1).mul_(show)
        if stay is not None and real is not None:
            padding = ~real.unsqueeze(-1)
            hidden.copy_(torch.where(padding, stay[0], hidden))
            cell.copy_(torch.where(padding, stay[1], cell))


def _doubled_candidate(gates: Tensor) -> Tensor:
    """Double the third quarter of ``(..., G)``: tanh(x) = 2 sigmoid(2 x) - 1, and torch's sigmoid is ten times faster."""
    keep, forget, candidate, show = gates.chunk(4, dim=-1)
    return torch.cat([keep, forget, 2 * candidate, show], dim=-1)
