"""Scoring functions: each computes how well a hidden state matches the query.

Each takes hidden states ``(B, T, H)`` to unnormalised scores ``(B, T)``. Where there is no second sequence, the query is a
learned vector; where there is a question, it is the question's encoding.
"""

from typing import cast

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Readout


class AdditiveScoring(nn.Module):
    r"""The additive score :math:`v^\top \tanh(W_1 h_i + W_2 q)` (Bahdanau et al. 2015).

    If the query is learned, the constant :math:`W_2 q` is the bias of the first layer. Jain & Wallace 2019 call this score
    *tanh*. Their :math:`v` has the size H / 2, that of Serrano & Smith 2019 the size H.

    Args:
        hidden_size: H, size of the hidden states that are scored.
        attention_size: size of :math:`v`; by default H / 2, at least 1.
    """

    def __init__(self, hidden_size: int, attention_size: int | None = None) -> None:
        super().__init__()
        size = attention_size or max(hidden_size // 2, 1)
        self.projection = nn.Linear(hidden_size, size)
        self.alignment = nn.Linear(size, 1, bias=False)
        self.query: nn.Linear | None = None

    def take_queries(self) -> None:
        """Switch from one learned query for all texts to a given query for each text."""
        self.query = nn.Linear(self.projection.in_features, self.projection.out_features)

    def forward(self, hidden: Tensor, query: Tensor | None = None) -> Tensor:
        """Map hidden states ``(B, T, H)``, and queries ``(B, H)`` if they are expected, to scores ``(B, T)``."""
        projected = self.projection(hidden)
        if self.query is not None:
            projected = projected + self.query(query).unsqueeze(1)
        return self.alignment(torch.tanh(projected)).squeeze(-1)

    @property
    def readout(self) -> Readout:
        """Return the scoring function with a learned query as a ``Readout`` that is fast on a CPU."""
        alignment = 2 * self.alignment.weight[0]
        constant = self.alignment.weight.sum()

        def finish(features: Tensor) -> Tensor:
            return (features.sigmoid_() @ alignment - constant).unsqueeze(-1)

        return Readout(2 * self.projection.weight, 2 * self.projection.bias, finish)


class DotScoring(nn.Module):
    r"""The scaled dot product :math:`h_i^\top q / \sqrt{H}` (Vaswani et al. 2017).

    A learned query is the weight of a linear layer without bias, initialised as usual, as in Jain & Wallace 2019.

    Args:
        hidden_size: H, size of the hidden states that are scored.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.query: nn.Linear | None = nn.Linear(hidden_size, 1, bias=False)

    def take_queries(self) -> None:
        """Switch from one learned query for all texts to a given query for each text."""
        self.query = None

    def forward(self, hidden: Tensor, query: Tensor | None = None) -> Tensor:
        """Map hidden states ``(B, T, H)``, and queries ``(B, H)`` if they are expected, to scores ``(B, T)``."""
        scores = hidden @ cast(Tensor, query).unsqueeze(-1) if self.query is None else self.query(hidden)
        return scores.squeeze(-1) / hidden.shape[-1] ** 0.5

    @property
    def readout(self) -> Readout:
        """Return the scoring function with a learned query as a ``Readout``."""
        query = cast(nn.Linear, self.query)
        weight = query.weight / query.in_features**0.5
        return Readout(weight, weight.new_zeros(1), lambda features: features)
