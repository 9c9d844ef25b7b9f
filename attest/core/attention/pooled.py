"""Attention that pools a text: one query gives each token one weight (Jain & Wallace 2019)."""

from collections.abc import Callable
from typing import Any, cast

from torch import Tensor, nn

from attest.core.attention.interventions import HookedModule, Readout
from attest.core.attention.projections import Projection, Softmax
from attest.core.attention.scoring import AdditiveScoring


class PooledAttention(HookedModule):
    """An attention that gives each hidden state a score, projects the scores to weights, and averages the states.

    Args:
        hidden_size: H, size of the hidden states.
        scoring: makes the scoring function from H.
        projection: takes scores to attention.
    """

    def __init__(
        self, hidden_size: int, scoring: Callable[[int], nn.Module] = AdditiveScoring, projection: Projection | None = None
    ) -> None:
        super().__init__()
        self.scoring = scoring(hidden_size)
        self.projection = projection or Softmax()

    def score(self, hidden: Tensor, mask: Tensor, *query: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and mask ``(B, T)`` to scores ``(B, T)``, meaningless at padding.

        An intervention on the keys changes what is scored, not what is pooled.

        Args:
            hidden, mask: of a text.
            query: ``(B, H)``, if the scoring function takes queries.
        """
        return self.hook("scores", self.scoring(self.hook("keys", hidden, mask), *query), mask)

    @property
    def readout(self) -> Readout:
        """Return the attention scoring function as a ``Readout``: an affine map, followed by a function.

        Raises:
            AttributeError: the scoring function has no readout, or an intervention changes keys or scores.
        """
        if any(point in ("keys", "scores") for point, _ in self.replacements):
            raise AttributeError("scores are being tampered with")
        return cast(Any, self.scoring).readout

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map scores ``(B, T)`` to attention ``(B, T)``. Each row sums to 1, and padding gets exactly 0."""
        projection = self.hook("projection", self.projection, mask)
        return self.hook("weights", projection(scores, mask), mask)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to their attention-weighted sum, the context ``(B, H)``."""
        return pool(hidden, self.project(self.score(hidden, mask), mask))


def pool(hidden: Tensor, weights: Tensor) -> Tensor:
    """Compute the weighted sum of hidden states: ``(B, T, H)``, ``(B, T)`` -> ``(B, H)``."""
    return (weights.unsqueeze(1) @ hidden).squeeze(1)
