"""Reading a text once for every token that might be missing, as a bidirectional recurrent network can.

Without token v the forward states before v and the backward states after v are what they were. So each direction reads the
text once, remembering where it was before every token, and at every token a variant, the one that skips it, branches off.
One recurrent product a step serves many variants; what is wanted of a state is read off it at once, and no state is kept.

Legend: B batch, T tokens, V variants (T of them), E embedding, H hidden units a direction,
A features and F numbers of a ``Reading``.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from attest.core.attention.interventions import Reading
from attest.models.networks.cells import Cell, State, product_with
from attest.models.networks.tokens import reversal, reverse

ROWS = 512
"""Readers that step together: their gates stay in a core's cache."""


@torch.no_grad()
def read_without_each(onward: Cell, backward: Cell, sequences: Tensor, mask: Tensor, reading: Reading) -> Tensor:
    """What is read off every hidden state of every text without each of its tokens.

    Args:
        onward, backward: the two directions; hidden states are what the first makes of a token, then what the second does.
        sequences: float ``(B, T, E)``.
        mask: bool ``(B, T)``, True at real tokens, which come first.
        reading: of hidden states ``(2 H,)``.
    Returns:
        ``(B, T, T, F)``: ``[b, v, t]`` is what is read at token t of text b without its token v; arbitrary, but finite, at
        t = v and at padding.
    """
    reversal_BT = reversal(mask.sum(dim=-1), mask.shape[1])
    forth, back = _Path(onward, sequences), _Path(backward, reverse(sequences, reversal_BT))
    first, second = reading.weight.chunk(2, dim=-1)
    of_forth, of_back = forth.hidden @ first.t() + reading.bias, back.hidden @ second.t() + reading.bias
    later = forth.read_variants(reverse(of_back, reversal_BT), first, reading)
    earlier = back.read_variants(reverse(of_forth, reversal_BT), second, reading)
    text = torch.arange(len(mask), device=mask.device)[:, None, None]
    earlier = earlier[text, reversal_BT.unsqueeze(2), reversal_BT.unsqueeze(1)]
    position = torch.arange(mask.shape[1], device=mask.device)
    return torch.where((position > position.unsqueeze(-1)).unsqueeze(-1), later, earlier)


class _Path:
    """One direction's way through the texts."""

    def __init__(self, cell: Cell, sequences: Tensor) -> None:
        self.cell, self.inputs_TBG = cell, cell.inputs(sequences)
        size, batch = self.inputs_TBG.shape[:2]
        self.before: State = tuple(each.repeat(size + 1, batch, 1) for each in cell.start())
        for position in range(size):
            for path in self.before:
                path[position + 1] = path[position]
            cell.step(tuple(path[position + 1 : position + 2] for path in self.before), self.inputs_TBG[position])

    @property
    def hidden(self) -> Tensor:
        """Hidden states of the whole texts, ``(B, T, H)``."""
        return self.before[0][1:].transpose(0, 1)

    def read_variants(self, other_BTA: Tensor, weight: Tensor, reading: Reading) -> Tensor:
        """Read every variant where it differs in this direction, at tokens after the one it lacks: ``(B, T, T, F)``.

        Args:
            other_BTA: what the other half of the hidden states, which is as it was, adds to the features, bias included.
            weight: ``(A, H)``, of this half.
            reading: of both.
        """
        other_TBA, product = other_BTA.transpose(0, 1), product_with(weight)
        size, batch = self.inputs_TBG.shape[:2]
        read = other_BTA.new_zeros(size, size, batch, reading.finish(other_TBA[0].clone()).shape[-1])  # (T, V, B, F)
        block = max(1, ROWS // batch)
        for start in range(0, size, block):
            for position, hidden in self._variants(range(start, min(start + block, size))):
                features = product(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1).add_(other_TBA[position])
                numbers = reading.finish(features.flatten(0, 1))
                read[position, start : start + len(hidden)] = numbers.unflatten(0, hidden.shape[:2])
        return read.permute(2, 1, 0, 3)

    def _variants(self, skipped: range) -> Iterator[tuple[int, Tensor]]:
        """Positions, and the hidden states ``(V, B, H)`` of the variants that have branched off before each."""
        state = tuple(path.new_empty(len(skipped), *path.shape[1:]) for path in self.before)
        for position in range(skipped.start + 1, len(self.inputs_TBG)):
            if position - 1 in skipped:
                for each, path in zip(state, self.before, strict=True):
                    each[position - 1 - skipped.start] = path[position - 1]
            live = tuple(each[: position - skipped.start] for each in state)
            self.cell.step(live, self.inputs_TBG[position])
            yield position, live[0]
