"""Transformers with attention only inside the layers: a classifier and a tagger.

Here φ acts in every head, and there is no single distribution over the tokens of a text: what can be put on trial is reached
by ``attest.core.attention.interventions``, at the places of each layer.
"""

from collections.abc import Iterable

from torch import Tensor, nn

from attest.core.attention import MultiHeadAttention, Projection, Uniform
from attest.core.attention.pooled import pool
from attest.models.networks.transformer import TransformerEncoder


class TransformerClassifier(nn.Module):
    """Mean of the last layer's hidden states, then a linear layer (Drozdyuk et al.).

    It offers the four steps, so that gradients and counterfactual texts can be had as from any network, but two of them have
    nothing to learn: the mean is uniform attention, so ``score`` is constant and ``project`` uniform, whatever φ is.
    ``pools_by_attention`` says so, and evidence on pooled attention is refused.

    Args:
        vocab_size: number of token ids.
        outputs: C, number of logits.
        size, layers, heads, feedforward_size, dropout, projection, embedding_size: as in ``TransformerEncoder``.
    """

    pools_by_attention = False
    """The weights that ``project`` returns are the mean's: nothing learned, nothing to put on trial."""

    attends_within = True
    """Tokens attend to one another."""

    def __init__(
        self,
        vocab_size: int,
        outputs: int,
        size: int = 128,
        layers: int = 4,
        heads: int = 8,
        feedforward_size: int = 512,
        dropout: float = 0.1,
        projection: Projection | list[Projection] | None = None,
        embedding_size: int | None = None,
    ) -> None:
        super().__init__()
        self.encoder = TransformerEncoder(
            vocab_size, size, layers, heads, feedforward_size, dropout, projection, embedding_size
        )
        self.decoder = nn.Linear(size, outputs)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids int64 ``(B, T)``, mask bool ``(B, T)`` -> hidden states ``(B, T, H)``."""
        return self.encoder(tokens, mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Hidden states ``(B, T, H)`` -> zeros ``(B, T)``: every token matters alike."""
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Any scores ``(B, T)`` -> one over the number of real tokens, ``(B, T)``."""
        return Uniform()(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Hidden states ``(B, T, H)`` pooled by any weights ``(B, T)`` -> logits ``(B, C)``."""
        return self.decoder(pool(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(B, T)`` -> logits ``(B, C)``."""
        return self._decided(self.encode(tokens, mask), mask)

    def resume(self, hidden: Tensor, mask: Tensor, layer: int) -> Tensor:
        """What enters a layer, counted from 0, ``(B, T, H)`` -> logits ``(B, C)``."""
        return self._decided(self.encoder.resume(hidden, mask, layer), mask)

    def _decided(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """What each token alone would decide, ``(B, T, C)``; as in ``PoolingClassifier``."""
        return self.decoder(hidden)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters that make attention: queries, keys and projection of every head."""
        return _attention_parameters(self)


class TransformerTagger(nn.Module):
    """One tag a token from the last layer's hidden states (Yang): one layer, four heads, no causal mask.

    ``encode`` and ``decode`` are its steps; ``decode`` takes no weights, since nothing is pooled.

    Args:
        vocab_size: number of token ids.
        outputs: K, number of tags.
        size, layers, heads, feedforward_size, dropout, projection, embedding_size: as in ``TransformerEncoder``.
    """

    pools_by_attention = False
    attends_within = True

    def __init__(
        self,
        vocab_size: int,
        outputs: int,
        size: int = 128,
        layers: int = 1,
        heads: int = 4,
        feedforward_size: int = 128,
        dropout: float = 0.2,
        projection: Projection | list[Projection] | None = None,
        embedding_size: int | None = 300,
    ) -> None:
        super().__init__()
        self.encoder = TransformerEncoder(
            vocab_size, size, layers, heads, feedforward_size, dropout, projection, embedding_size
        )
        self.decoder = nn.Linear(size, outputs)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids int64 ``(B, T)``, mask bool ``(B, T)`` -> hidden states ``(B, T, H)``."""
        return self.encoder(tokens, mask)

    def decode(self, hidden: Tensor) -> Tensor:
        """Hidden states ``(B, T, H)`` -> logits of tags ``(B, T, K)``."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(B, T)`` -> logits of tags ``(B, T, K)``, arbitrary at padding."""
        return self.decode(self.encode(tokens, mask))

    def resume(self, hidden: Tensor, mask: Tensor, layer: int) -> Tensor:
        """What enters a layer, counted from 0, ``(B, T, H)`` -> logits of tags ``(B, T, K)``."""
        return self.decode(self.encoder.resume(hidden, mask, layer))

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters that make attention: queries, keys and projection of every head."""
        return _attention_parameters(self)


def _attention_parameters(network: nn.Module) -> Iterable[nn.Parameter]:
    for module in network.modules():
        if isinstance(module, MultiHeadAttention):
            yield from module.query.parameters()
            yield from module.key.parameters()
            yield from module.projection.parameters()
