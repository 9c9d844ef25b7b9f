"""Batches of real texts to race over: the test splits of SST and IMDb as Jain & Wallace's released code makes them."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from attest.datamodules import ImdbDataModule, SstDataModule

BATCH = 32


def batches(data: str, texts: int) -> tuple[list[tuple[Tensor, Tensor]], int]:
    """Return batches of 32 neighbours in length, and the size of the vocabulary.

    Args:
        data: ``sst`` or ``imdb``.
        texts: how many test texts, evenly spread over the lengths; 0 for all.
    Returns:
        Token ids int64 ``(B, T)``, 0 at padding, and lengths ``(B,)`` of every batch.
    """
    corpus = (SstDataModule() if data == "sst" else ImdbDataModule()).corpus
    documents = [corpus.vocabulary.encode(tokens) for tokens in corpus.test.tokens]
    documents = sorted(documents, key=len)
    if texts:
        documents = [documents[i] for i in np.linspace(0, len(documents) - 1, min(texts, len(documents))).round().astype(int)]
    return list(_batched(documents)), len(corpus.vocabulary)


def _batched(documents: list[list[int]]) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, len(documents), BATCH):
        rows = [torch.tensor(document) for document in documents[start : start + BATCH]]
        yield torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])
