"""The Transformer (Vaswani et al. 2017) with hook points in its attention: an encoder, a classifier and a tagger.

The projection φ acts in every head of every layer. The classifier and the tagger have attention only inside their layers.

Legend: B batch, T tokens, H size of the hidden states.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention import MultiHeadAttention, Projection, Uniform
from attest.core.attention.pooled import pool
from attest.core.errors import AttestError
from attest.models.contract import decided
from attest.models.networks.tokens import embedding


class TransformerEncoder(nn.Module):
    """An encoder that embeds tokens, adds position encodings, and applies layers of self-attention.

    Layers normalise after each residual step, as in the original and in the papers that Attest replicates.

    Args:
        vocab_size: number of token ids.
        size: H, of embeddings and hidden states throughout, unless ``embedding_size`` says otherwise.
        layers: number of layers.
        heads: number of heads in each layer; it divides ``size``.
        feedforward_size: hidden units of the layers' feed-forward networks.
        dropout: after embedding and after each sublayer, in training.
        projection: φ inside every head: one that every layer copies, or a list with one for each layer.
        embedding_size: size of the embeddings, which a linear layer then maps to size H; None if embeddings have size H. They
            are then multiplied by the square root of H.
    Raises:
        AttestError: there are several projections, but not one for each layer.
    """

    attends_within = True

    def __init__(
        self,
        vocab_size: int,
        size: int = 128,
        layers: int = 2,
        heads: int = 1,
        feedforward_size: int = 128,
        dropout: float = 0.1,
        projection: Projection | list[Projection] | None = None,
        embedding_size: int | None = None,
    ) -> None:
        super().__init__()
        projections = projection if isinstance(projection, list) else [projection] * layers
        if len(projections) != layers:
            raise AttestError(
                f"projection= has {len(projections)} projections for {layers} layers; expected one projection for each layer, "
                "or one for all layers."
            )
        self.embedding = embedding(vocab_size, embedding_size or size, std=1.0 if embedding_size else size**-0.5)
        self.into_size = nn.Linear(embedding_size, size) if embedding_size else None
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(TransformerLayer(size, heads, feedforward_size, dropout, each) for each in projections)
        self.output_size = size
        self._kept: Tensor | None = None
        """float ``(T, H)``: the position encodings computed so far, kept between passes on a GPU; None before the first pass,
        and on a CPU. Not a buffer, because DDP would exchange buffers of different lengths between processes."""

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)`` to hidden states ``(B, T, H)``, which are arbitrary at padding."""
        embedded_BTH = self.embedding(tokens)
        embedded_BTH = self.output_size**0.5 * embedded_BTH if self.into_size is None else self.into_size(embedded_BTH)
        hidden_BTH = self.dropout(embedded_BTH + self._positions(tokens.shape[1], embedded_BTH))
        for layer in self.layers:
            hidden_BTH = layer(hidden_BTH, mask)
        return hidden_BTH

    def _positions(self, length: int, like: Tensor) -> Tensor:
        """Return the encodings of the first positions, ``(T, H)``, which on a GPU are kept from pass to pass."""
        if like.device.type == "cpu":
            return sinusoids(length, self.output_size).to(like)
        kept = self._kept
        if kept is None or len(kept) < length or kept.device != like.device or kept.dtype != like.dtype:
            with torch.inference_mode(False):
                kept = self._kept = sinusoids(length, self.output_size).to(like)
        return kept[:length]


class TransformerLayer(nn.Module):
    """A layer of self-attention and a feed-forward network, each with a residual step and a normalisation after it.

    Args:
        size: H, size of the hidden states.
        heads, projection: as in ``MultiHeadAttention``.
        feedforward_size: hidden units of the feed-forward network.
        dropout: rate in training, for the output of each sublayer.
    """

    def __init__(
        self, size: int, heads: int, feedforward_size: int, dropout: float = 0.0, projection: Projection | None = None
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(size, heads, projection)
        self.widen, self.narrow = nn.Linear(size, feedforward_size), nn.Linear(feedforward_size, size)
        self.attention_norm, self.feedforward_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)``, mask ``(B, T)`` to hidden states ``(B, T, H)``."""
        attended_BTH = self.attention_norm(hidden + self.dropout(self.attention(hidden, mask)))
        fed_forward_BTH = self.narrow(functional.relu(self.widen(attended_BTH), inplace=True))
        return self.feedforward_norm(attended_BTH + self.dropout(fed_forward_BTH))


def sinusoids(length: int, size: int) -> Tensor:
    """Return position encodings, ``(T, H)`` in [-1, 1]: sines in even dimensions, cosines in odd (Vaswani et al., 3.5)."""
    frequencies = 10_000 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(-1) * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :size]


class KeyPerturbation(nn.Module):
    """A network that computes changed attention keys from the original keys or from noise.

    Args:
        size: H, of the keys of all heads side by side.
        hidden_size: of the one hidden layer, relu.
    """

    def __init__(self, size: int, hidden_size: int = 256) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(size, hidden_size), nn.Linear(hidden_size, size)

    def forward(self, keys: Tensor) -> Tensor:
        """Map attention keys ``(..., H)`` to changed attention keys ``(..., H)``."""
        return self.output(self.hidden(keys).relu())


class _TransformerNetwork(nn.Module):
    pools_by_attention = False
    attends_within = True

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
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to hidden states ``(B, T, H)``."""
        return self.encoder(tokens, mask)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Return the parameters that compute attention: queries, keys and projection of every head."""
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                yield from module.query.parameters()
                yield from module.key.parameters()
                yield from module.projection.parameters()


class UniformPooling:
    """A mixin with the methods ``score`` and ``project``, which give all real tokens equal weights."""

    pools_by_attention = False
    """Whether the network pools its tokens by learned attention, which experiments can test: no, here all tokens get equal
    weights."""

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to zeros ``(B, T)``."""
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Give all real tokens equal weights that sum to 1, ``(B, T)``, whatever their scores."""
        return Uniform()(scores, mask)


class TransformerClassifier(UniformPooling, _TransformerNetwork):
    """A classifier that applies a linear layer to the mean of the last hidden states (Drozdyuk et al.).

    It offers the four steps, so that gradients and counterfactual texts can be computed, but evidence on pooled attention is
    refused, because the mean is uniform attention, whatever φ is.

    Args:
        vocab_size: number of token ids.
        outputs: C, number of logits.
        size, layers, heads, feedforward_size, dropout, projection, embedding_size: as in ``TransformerEncoder``.
    """

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Pool hidden states ``(B, T, H)`` by any weights ``(B, T)`` and map the result to logits ``(B, C)``."""
        return self.decoder(pool(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, C)``."""
        return decided(self, self.encode(tokens, mask), mask)

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Return, for each token, the network's logits ``(B, T, C)`` if this token has the attention weight 1."""
        return self.decoder(hidden)


class TransformerTagger(_TransformerNetwork):
    """A Transformer that tags each token by a linear layer on its last hidden state (Yang 2020).

    ``encode`` and ``decode`` are its steps; ``decode`` takes no weights, since nothing is pooled.

    Args:
        vocab_size: number of token ids.
        outputs: K, number of tags.
        size, layers, heads, feedforward_size, dropout, projection, embedding_size: as in ``TransformerEncoder``.
    """

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
        super().__init__(vocab_size, outputs, size, layers, heads, feedforward_size, dropout, projection, embedding_size)

    def decode(self, hidden: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` to logits of tags ``(B, T, K)``."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits of tags ``(B, T, K)``, arbitrary at padding."""
        return self.decode(self.encode(tokens, mask))
