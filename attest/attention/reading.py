"""What is read off a hidden state: an affine map, then a function. A token's score and its logits are such readings.

Because the map comes first, its halves can be applied to the halves of a bidirectional hidden state at different times and
added: where one half stays as it was, only the other is mapped anew.

Legend: N hidden states, H their size, A intermediate features, F numbers read.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Reading:
    """An affine map ``(N, H) -> (N, A)`` and what becomes of it."""

    weight: Tensor
    """``(A, H)``."""
    bias: Tensor
    """``(A,)``."""
    finish: Callable[[Tensor], Tensor]
    """``(N, A) -> (N, F)``; may overwrite what it is given."""

    def __call__(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(..., H)`` -> numbers ``(..., F)``."""
        return self.finish(functional.linear(hidden.flatten(0, -2), self.weight, self.bias)).unflatten(0, hidden.shape[:-1])

    def beside(self, linear: nn.Linear) -> "Reading":
        """The same numbers, followed by the outputs of a linear layer."""
        own = len(self.weight)

        def finish(features: Tensor) -> Tensor:
            return torch.cat([self.finish(features[:, :own]), features[:, own:]], dim=-1)

        return Reading(torch.cat([self.weight, linear.weight]), torch.cat([self.bias, linear.bias]), finish)


def without_context(numbers: Tensor) -> Tensor:
    """What is read without each token where tokens know nothing of one another: ``(B, T, F)`` -> ``(B, T, T, F)``, a view."""
    return numbers.unsqueeze(1).expand(-1, numbers.shape[1], -1, -1)
