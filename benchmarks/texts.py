"""Batches of real texts to race over: SST as its DataModule has it, IMDb reviews split at non-letters."""

import re
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from datamodules import SstDataModule
from datamodules.sources import load_split

BATCH = 32
LONGEST = 400
"""Jain & Wallace keep IMDb reviews shorter than this."""


def batches(data: str, texts: int) -> tuple[list[tuple[Tensor, Tensor]], int]:
    """Batches of 32 neighbours in length, and the size of the vocabulary.

    Args:
        data: ``sst`` or ``imdb``.
        texts: how many test texts, evenly spread over the lengths; 0 for all.
    Returns:
        Token ids int64 ``(B, T)``, 0 at padding, and lengths ``(B,)`` of every batch.
    """
    documents, vocabulary = _sst() if data == "sst" else _imdb()
    documents = sorted(documents, key=len)
    if texts:
        documents = [documents[i] for i in np.linspace(0, len(documents) - 1, min(texts, len(documents))).round().astype(int)]
    return list(_batched(documents)), vocabulary


def _batched(documents: list[list[int]]) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, len(documents), BATCH):
        rows = [torch.tensor(document) for document in documents[start : start + BATCH]]
        yield torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])


def _sst() -> tuple[list[list[int]], int]:
    data = SstDataModule()
    vocabulary = data.corpus.vocabulary
    return [vocabulary.encode(tokens) for tokens in data.corpus.test.tokens], len(vocabulary)


def _imdb() -> tuple[list[list[int]], int]:
    split = load_split("imdb", "test", hub="stanfordnlp/imdb")
    reviews = [re.findall(r"[a-z']+", text.lower().replace("<br />", " ")) for text in split["text"]]
    reviews = [words for words in reviews if 1 < len(words) < LONGEST]
    ids = {word: 2 + i for i, word in enumerate(sorted({word for words in reviews for word in words}))}
    known = 12_487  # the published vocabulary's size; the rest is one unknown word
    return [[min(ids[word], known + 1) for word in words] for words in reviews], known + 2
