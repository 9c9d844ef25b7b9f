"""Self-attention with several heads, with hook points (Vaswani et al. 2017).

Legend: B batch, N heads, T tokens, D dimensions a head, H = N D.
"""

from torch import Tensor, nn

from attest.core.attention.interventions import HookedModule
from attest.core.attention.projections import Projection, Softmax
from attest.core.errors import AttestError


class MultiHeadAttention(HookedModule):
    r"""A self-attention with several heads and a linear output layer; every token attends to every real token.

    Hook points: keys, values and outputs are ``(B, N, T, D)``; scores and weights are ``(B, N, T, T)``, and their last
    dimension is the token that receives attention.

    Args:
        size: H.
        heads: N, which divides H.
        projection: φ inside every head. It is copied, so layers share no parameters; a learned α is learned for each head.
    Raises:
        AttestError: the heads do not divide the size.
    """

    def __init__(self, size: int, heads: int, projection: Projection | None = None) -> None:
        super().__init__()
        if size % heads:
            raise AttestError(
                f"size={size} is not a multiple of heads={heads}; expected a number of heads that divides the size, for "
                "example heads=1."
            )
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        self.projection = (projection or Softmax()).for_heads(heads)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and mask bool ``(B, T)`` to contexts ``(B, T, H)``, arbitrary at padding."""
        values_BNTD = self.hook("values", self.values(hidden), mask)
        given_BNTT = self.given("weights", (*values_BNTD.shape[:3], values_BNTD.shape[2]))
        weights_BNTT = self.hook("weights", self._weights(hidden, mask) if given_BNTT is None else given_BNTT.to(hidden), mask)
        outputs_BNTD = self.hook("outputs", weights_BNTT @ values_BNTD, mask)
        return self.output(outputs_BNTD.transpose(1, 2).flatten(2))

    def values(self, hidden: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to the values of each head, ``(B, N, T, D)``, before any intervention."""
        return self._split(self.value(hidden))

    def _weights(self, hidden: Tensor, mask: Tensor) -> Tensor:
        queries_BNTD = self._split(self.query(hidden))
        keys_BNTD = self.hook("keys", self._split(self.key(hidden)), mask)
        scaled_BNTT = queries_BNTD @ keys_BNTD.mT / keys_BNTD.shape[-1] ** 0.5
        scores_BNTT = self.hook("scores", scaled_BNTT, mask)
        projection = self.hook("projection", self.projection, mask)
        return projection(scores_BNTT, mask[:, None, None, :])

    def _split(self, hidden_BTH: Tensor) -> Tensor:
        return hidden_BTH.unflatten(-1, (self.heads, -1)).transpose(1, 2)
