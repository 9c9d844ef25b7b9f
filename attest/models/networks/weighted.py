"""The network of Yang's second probe: a tagger in which only attention that is given lets tokens know of one another.

Legend: B batch, N heads, T tokens, H size of the hidden states.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention import Uniform
from attest.core.attention.interventions import HookedModule
from attest.models.networks.tokens import embedding


class GivenAttention(HookedModule):
    """Attention that learns nothing: its weights are given at the hook point ``weights``, and are uniform without them.

    Hook points: ``values`` and ``outputs`` are ``(B, N, T, H)``, where all heads have the same values; ``weights`` are
    ``(B, N, T, T)``, and their last dimension is the token that receives attention.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads: int = heads

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and mask bool ``(B, T)`` to contexts ``(B, T, N H)``, arbitrary at padding."""
        batch, size, _ = hidden.shape
        values_BNTH = self.hook("values", hidden.unsqueeze(1).expand(-1, self.heads, -1, -1), mask)
        scores_BNTT = hidden.new_zeros(batch, self.heads, size, size)
        weights_BNTT = self.hook("weights", Uniform()(scores_BNTT, mask[:, None, None, :]), mask)
        contexts_BNTH = self.hook("outputs", weights_BNTT @ values_BNTH, mask)
        return contexts_BNTH.transpose(1, 2).flatten(2)


class GivenLayer(nn.Module):
    """A layer that is its attention and nothing else. Its parts are named as in a Transformer, whose attention it is given.

    Args:
        heads: N, number of heads.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.attention = GivenAttention(heads)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)``, mask ``(B, T)`` to contexts ``(B, T, N H)``."""
        return self.attention(hidden, mask)


class WeightedStates(nn.Module):
    """An encoder that reads each token alone by a feed-forward layer and weights these states by attention that is given.

    Args:
        layers: number of layers whose attention is given; the contexts of all of them stand side by side.
        heads: N, number of heads in each layer.
        vocab_size, size, embedding_size, dropout: as in ``WeightedStatesTagger``.
    """

    def __init__(self, vocab_size: int, size: int, layers: int, heads: int, embedding_size: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding(vocab_size, embedding_size, std=1.0)
        self.feedforward = nn.Linear(embedding_size, size)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(GivenLayer(heads) for _ in range(layers))
        self.output_size = layers * heads * size

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)`` to contexts ``(B, T, output_size)``, which are arbitrary at padding."""
        states_BTH = self.dropout(functional.relu(self.feedforward(self.embedding(tokens))))
        return torch.cat([layer(states_BTH, mask) for layer in self.layers], dim=-1)


class WeightedStatesTagger(nn.Module):
    r"""A tagger that reads each token by itself, weights these states by given attention, and tags the contexts.

    .. math:: h_j = \mathrm{relu}(W x_j + b), \qquad c_{n,i} = \sum_j \alpha_{n,ij} h_j, \qquad
        \hat y_i = V [c_{1,i}; \dots; c_{N,i}] + d

    There are no positions, no residual steps and no layers after attention, so a token knows of itself and of the others only
    what the weights let through. The paper names this probe as future work (Yang 2020, §6) and states no sizes.

    Args:
        vocab_size: number of token ids.
        outputs: K, number of tags.
        size: H, of the states.
        layers, heads: numbers of layers and of heads in each whose attention is given.
        embedding_size: of the embedded tokens.
        dropout: of the states, in training.
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
        embedding_size: int = 300,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.encoder = WeightedStates(vocab_size, size, layers, heads, embedding_size, dropout)
        self.decoder = nn.Linear(self.encoder.output_size, outputs)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to contexts ``(B, T, layers N H)``."""
        return self.encoder(tokens, mask)

    def decode(self, hidden: Tensor) -> Tensor:
        """Map contexts ``(B, T, layers N H)`` to logits of tags ``(B, T, K)``."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits of tags ``(B, T, K)``, arbitrary at padding."""
        return self.decode(self.encode(tokens, mask))
