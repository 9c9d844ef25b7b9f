"""Scoring (alignment) functions: how well does each hidden state match the query?

Each takes hidden states ``(B, T, H)`` to unnormalised scores ``(B, T)``. In classification there is no second sequence,
so the query is a learned vector.
"""

import torch
from torch import Tensor, nn


class AdditiveScoring(nn.Module):
    r"""Additive scores :math:`v^\top \tanh(W_1 h_i + W_2 q)` with a learned query (Bahdanau et al. 2015).

    The constant :math:`W_2 q` is the bias of the first layer. Jain & Wallace 2019 call it *tanh* and project to H / 2.

    Args:
        hidden_size: H, size of the hidden states that are scored; at least 2.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.projection = nn.Linear(hidden_size, hidden_size // 2)
        self.alignment = nn.Linear(hidden_size // 2, 1, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Score float hidden states ``(B, T, H)``; returns ``(B, T)``, any scale."""
        return self.alignment(torch.tanh(self.projection(hidden))).squeeze(-1)
