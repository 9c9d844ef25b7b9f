"""The forward pass that other people's model is in: its real tokens, and which computation of attention comes next.

Legend: B batch, T tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError
from attest.models.pretrained.calls import AttentionCall


class ForwardPass:
    """What is known of a forward pass. Both ways into a model are given it: ``attending_through`` and ``Softmaxes``.

    Args:
        model: the model that computes; refusals name its class.
        calls: the hook points of its computations of attention, in order; they are those of its wrapper.
    """

    def __init__(self, model: nn.Module, calls: nn.ModuleList) -> None:
        self.model, self.calls = model, calls
        self.real = torch.ones(1, 1, dtype=torch.bool)
        """bool ``(B, T)``: True at the real tokens of the texts in this pass."""
        self.made = 0
        """The number of attention computations in this pass so far."""
        self.exploring = False
        """Whether this is the model's first pass, in which hook points are made for each attention computation that occurs."""
        self.attends_at: tuple[int, ...] | None = None
        """The indices of the softmax calls that compute attention, among all softmax calls of a pass. None for a model that
        computes attention by transformers' ``AttentionInterface``, where no softmax has to be found."""
        self.beside: tuple[None, ...] | None = None
        """What a skipped layer returns beside the hidden states. None if the model's layers return hidden states alone; if
        they return a tuple, one None for each further value in it."""

    def begin(self, real: Tensor) -> None:
        """Begin a forward pass of texts with real tokens bool ``(B, T)``."""
        self.real, self.made = real, 0

    def next_call(self) -> AttentionCall:
        """Return the hook points of the next attention computation."""
        if self.exploring:
            self.calls.append(AttentionCall())
        return self.next_of(self.calls)

    def next_of(self, computed: Any) -> Any:
        """Return the entry of ``computed`` for the next attention; refuse more of them than in the model's first pass.

        Raises:
            AttestError: there is none left.
        """
        if self.made == len(computed):
            raise AttestError(
                f"{type(self.model).__name__} computes attention more often than in its first pass ({len(computed)} times); "
                "expected the same number of times in every pass."
            )
        self.made += 1
        return computed[self.made - 1]
