"""Pretrained word vectors, put where a network looks its tokens up."""

import torch
from torch import Tensor, nn

from attest.errors import AttestError


def load_vectors(network: nn.Module, vectors: Tensor | None) -> None:
    """Copy vectors into the token embedding of a network, which training goes on changing.

    Args:
        network: with one ``nn.Embedding`` as long as the vocabulary.
        vectors: float ``(vocab_size, E)``, zeros for words that have none; None leaves the network as it is.
    Raises:
        AttestError: the vectors have another dimension than the embedding.
    """
    if vectors is None:
        return
    words, size = vectors.shape
    for module in network.modules():
        if isinstance(module, nn.Embedding) and module.num_embeddings == words:
            if module.embedding_dim != size:
                raise AttestError(
                    f"embeddings: the vectors have {size} dimensions, the network's embedding {module.embedding_dim}; "
                    f"expected as many. Set the encoder's embedding_size to {size}, or give another file."
                )
            with torch.no_grad():
                module.weight.copy_(vectors)
            return
    raise AttestError(
        f"embeddings: {type(network).__name__} has no embedding of {words} words; expected one to put the vectors in. "
        "Leave data.init_args.embeddings out."
    )
