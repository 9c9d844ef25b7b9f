"""Pretrained word vectors, put into the embedding of a network."""

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError


def load_vectors(network: nn.Module, vectors: Tensor | None, words: int, freeze: bool = False) -> None:
    """Start the token embedding of a network from vectors, and leave it so where it is frozen.

    Args:
        network: with one ``nn.Embedding`` as long as the vocabulary, where there are vectors or it is frozen.
        vectors: float ``(words, E)``; None leaves the embedding as it is.
        words: number of token ids.
        freeze: whether training leaves the embedding as it is.
    Raises:
        AttestError: there is no such embedding, or the vectors have another dimension than it.
    """
    if vectors is None and not freeze:
        return
    embedding = _token_embedding(network, words)
    if vectors is not None:
        _require_dimension(embedding, vectors.shape[1])
        with torch.no_grad():
            embedding.weight.copy_(vectors)
    embedding.weight.requires_grad_(not freeze)


def _token_embedding(network: nn.Module, words: int) -> nn.Embedding:
    for module in network.modules():
        if isinstance(module, nn.Embedding) and module.num_embeddings == words:
            return module
    raise AttestError(
        f"embeddings: {type(network).__name__} has no embedding of {words} words; expected one to put the vectors in. "
        "Leave EMBEDDINGS and freeze_embeddings out."
    )


def _require_dimension(embedding: nn.Embedding, size: int) -> None:
    if embedding.embedding_dim != size:
        raise AttestError(
            f"embeddings: the vectors have {size} dimensions, the network's embedding {embedding.embedding_dim}; "
            f"expected as many. EMBEDDINGS=<name or file> sets both; or set the encoder's embedding_size to {size}."
        )
