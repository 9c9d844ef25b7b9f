"""The classifier that pools hidden states by attention into one context vector and decides by a linear layer."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from torch import Tensor, nn

from attest.core.attention import AdditiveScoring, PooledAttention, Projection
from attest.core.attention.pooled import pool
from attest.models.contract import decided
from attest.models.networks.recurrent import BiLSTM


class PoolsByAttention(nn.Module):
    """A base class for networks that pool hidden states by attention, with the methods that they share."""

    pools_by_attention = True
    """Whether the network pools its tokens by learned attention (the weights that ``project`` returns), which experiments can
    then test: yes."""
    attention: PooledAttention

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map scores ``(B, T)`` to attention ``(B, T)``; rows sum to 1, exactly 0 where ``mask`` is False."""
        return self.attention.project(scores, mask)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, C)``."""
        return decided(self, cast(Any, self).encode(tokens, mask), mask)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Return the parameters that compute attention: scoring and projection."""
        yield from self.attention.parameters()


class PoolingClassifier(PoolsByAttention):
    r"""A classifier that pools by attention: :math:`\hat y = w \sum_i \alpha_i h_i + b` (Jain & Wallace 2019).

    With the encoder ``Hierarchical``, sentences take the place of tokens: token ids are ``(B, S, T)``, the mask is ``(B, S)``,
    and attention is over S sentences.

    Args:
        vocab_size: number of token ids.
        outputs: C, number of logits: 1 for a binary task decided by one sigmoid, else the number of classes.
        encoder: makes the encoder from the vocabulary size.
        scoring: makes the scoring function from the size of the hidden states.
        projection: takes scores to attention.
    """

    def __init__(
        self,
        vocab_size: int,
        outputs: int,
        encoder: Callable[[int], nn.Module] = BiLSTM,
        scoring: Callable[[int], nn.Module] = AdditiveScoring,
        projection: Projection | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder(vocab_size)
        size = cast(int, self.encoder.output_size)
        self.attention = PooledAttention(size, scoring, projection)
        self.decoder = nn.Linear(size, outputs)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to hidden states ``(B, T, H)``."""
        return self.encoder(tokens, mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to scores ``(B, T)``, meaningless at padding."""
        return self.attention.score(hidden, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Pool hidden states ``(B, T, H)`` by any weights ``(B, T)`` and map the result to logits ``(B, C)``."""
        return self.decoder(pool(hidden, weights))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return, for each token, the network's logits ``(B, T, C)`` if this token has the attention weight 1."""
        return self.decoder(hidden)

    @property
    def read_without_each(self) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return a function that removes each token in turn and computes scores ``(B, T, T)`` and logits ``(B, T, T, C)``.

        Raises:
            AttributeError: the encoder has no ``read_without_each``, or scores cannot be computed from single hidden states.
        """
        encoder_reads, readout = cast(Any, self.encoder).read_without_each, self.attention.readout.beside(self.decoder)

        def read(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
            numbers = encoder_reads(tokens, mask, readout)
            return numbers[..., 0], numbers[..., 1:]

        return read
