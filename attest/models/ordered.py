"""Models of ordered classes, such as one to five stars, with a logit for each threshold between two classes (cumulative link).

Logit k is that of a class above the k-th. ``OrderedClasses`` tells which class such a model chooses, and ``ExpectedRank`` how
far a change moves it along the order.

Legend: B batch, T tokens, K classes.
"""

import torch
from torch import Tensor, nn

from attest.core.kinds import NUMBER


class OrderedClasses(nn.Module):
    """A model of ordered classes as a classifier, for a trial of its decisions.

    Args:
        model: maps token ids int64 ``(B, T)`` and a mask bool ``(B, T)`` to K - 1 logits, ``(B, K - 1)``.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def above(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of a class above each threshold, ``(B, K - 1)``; it never rises along the order."""
        return self.model(tokens, mask).sigmoid().cummin(dim=-1).values

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the logarithm of the probability of each class, ``(B, K)``, which a softmax turns into the probability."""
        above = self.above(tokens, mask)
        ends = above.new_ones(len(above), 1), above.new_zeros(len(above), 1)
        shares = torch.cat([ends[0], above], dim=-1) - torch.cat([above, ends[1]], dim=-1)
        return shares.clamp_min(torch.finfo(shares.dtype).tiny).log()


class ExpectedRank(OrderedClasses):
    """A model of ordered classes as a model of one number, for a trial of how far it moves: the mean of the class, from 0."""

    kind = NUMBER

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the mean of the number of the class, counted from 0, ``(B, 1)``."""
        return self.above(tokens, mask).sum(dim=-1, keepdim=True)
