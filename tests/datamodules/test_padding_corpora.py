"""Batches of every real corpus hold at most a tenth of padding in training and a twentieth in evidence."""

import itertools

import pytest

from attest.datamodules import Conll2000DataModule, ImdbDataModule, NewsgroupsDataModule, SstDataModule
from attest.datamodules.batching import batches_by_length, padding_share, shuffled_batches

pytestmark = pytest.mark.corpora


@pytest.mark.parametrize(
    ("module", "protocol"),
    [
        *itertools.product([SstDataModule, ImdbDataModule, NewsgroupsDataModule], ["jw-paper", "jw-current", "plain"]),
        (Conll2000DataModule, "plain"),
    ],
)
def test_padding_is_rare(module, protocol):
    corpus = module(protocol=protocol).corpus
    for epoch in range(3):
        batches = shuffled_batches(corpus.train.lengths, 32, seed=0, epoch=epoch)
        assert padding_share(corpus.train.lengths, batches) <= 0.10
    for documents in (corpus.validation, corpus.test):
        assert padding_share(documents.lengths, batches_by_length(documents.lengths, 32)) <= 0.05
