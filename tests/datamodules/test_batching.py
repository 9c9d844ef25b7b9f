"""Batches hold every text once, little padding, and depend on nothing but the corpus, the seed and the epoch."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attest.core.labels import UNLABELLED
from attest.datamodules.batching import (
    MOST_PADDING,
    BatchLoader,
    batch_sizes,
    batches_by_length,
    deal,
    padding_share,
    shuffled_batches,
)
from attest.datamodules.corpus import Documents
from attest.datamodules.encoded import EncodedDocuments, EncodedSentences
from attest.datamodules.vocabulary import Vocabulary

LENGTHS = st.lists(st.integers(1, 3000), min_size=1, max_size=200).map(np.array)
SIZES = st.integers(1, 40)


def rows_of(batches):
    return sorted(itertools.chain.from_iterable(batches))


@given(LENGTHS, SIZES)
def test_evaluation_batches_hold_every_text_once_and_a_twentieth_of_padding(lengths, size):
    batches = batches_by_length(lengths, size)
    assert rows_of(batches) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    padded = np.concatenate([lengths[batch].max() - lengths[batch] for batch in batches]).sum()
    assert padded / (padded + lengths.sum()) == pytest.approx(padding_share(lengths, batches), abs=1e-12)
    assert padding_share(lengths, batches) <= MOST_PADDING + 1e-12


@given(LENGTHS, SIZES, st.integers(0, 2**31), st.integers(0, 100))
def test_training_batches_are_a_function_of_seed_and_epoch(lengths, size, seed, epoch):
    batches = shuffled_batches(lengths, size, seed, epoch)
    assert rows_of(batches) == list(range(len(lengths)))
    assert batches == shuffled_batches(lengths.copy(), size, seed, epoch)
    assert len(batches) == len(shuffled_batches(lengths, size, seed, epoch + 1)) == len(batch_sizes(lengths, size))


def test_epochs_and_seeds_differ_in_order_and_in_company():
    lengths = np.arange(1000) % 40 + 10
    first, second, other = (shuffled_batches(lengths, 32, seed, epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0)))
    assert first != second
    assert first != other
    assert not set(map(frozenset, first)) & set(map(frozenset, second))


def test_texts_of_like_length_fill_their_batches():
    assert batch_sizes(np.full(100, 7), 32) == [32, 32, 32, 4]


def test_a_long_text_among_short_ones_has_a_batch_of_its_own():
    lengths = np.array([5] * 31 + [1000])
    assert batches_by_length(lengths, 32) == [list(range(31)), [31]]


@given(LENGTHS, SIZES, st.integers(1, 5))
def test_ranks_share_evaluation_batches_without_loss(lengths, size, ranks):
    batches = batches_by_length(lengths, size)
    shares = [deal(batches, rank, ranks, equally=False) for rank in range(ranks)]
    assert sorted(itertools.chain.from_iterable(shares[: len(batches)])) == sorted(batches)
    assert all(share == batches[:1] for share in shares[len(batches) :])


@given(LENGTHS, SIZES, st.integers(1, 5))
def test_ranks_train_as_many_steps_and_on_every_text(lengths, size, ranks):
    batches = shuffled_batches(lengths, size, 0, 0)
    shares = [deal(batches, rank, ranks, equally=True) for rank in range(ranks)]
    assert len({len(share) for share in shares}) == 1
    assert all(map(all, shares))
    assert set(rows_of(itertools.chain.from_iterable(shares))) == set(range(len(lengths)))


def encoded(count: int = 10) -> EncodedDocuments:
    texts = [["a"] * (1 + row % 3) for row in range(count)]
    return EncodedDocuments(Documents.of(range(count), texts, label=[0] * count), Vocabulary.fit(texts))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_goes_on_after_the_batches_that_were_delivered(workers):
    loaders = [BatchLoader(encoded(), lambda: [[0, 1], [2, 3], [4, 5]], workers) for _ in range(2)]
    running = iter(loaders[0])
    next(running)
    loaders[1].load_state_dict(loaders[0].state_dict())
    assert [batch["id"].tolist() for batch in loaders[1]] == [[2, 3], [4, 5]]
    assert [batch["id"].tolist() for batch in loaders[1]] == [[0, 1], [2, 3], [4, 5]]


def test_a_batch_is_padded_at_the_end():
    documents = Documents.of([7, 3], [["a", "b", "x"], ["b"]], label=[1, 0], rationale=[[True, False, True], [True]])
    dataset = EncodedDocuments(documents, Vocabulary(["a", "b"]))
    batch = dataset.__getitems__([1, 0])
    assert {key: values.tolist() for key, values in batch.items()} == {
        "id": [3, 7],
        "label": [0, 1],
        "token_ids": [[3, 0, 0], [2, 3, 1]],
        "mask": [[True, False, False], [True, True, True]],
        "rationale": [[True, False, False], [True, False, True]],
    }
    assert dataset.tokens_of(7) == ["a", "b", "x"]


def test_tags_of_padding_are_what_cross_entropy_ignores():
    documents = Documents.of([0, 1], [["a", "b"], ["b"]], tags=[[4, 0], [2]])
    batch = EncodedDocuments(documents, Vocabulary(["a", "b"])).__getitems__([0, 1])
    assert "label" not in batch
    assert batch["tags"].tolist() == [[4, 0], [2, UNLABELLED]]
    logits = torch.randn(2, 2, 5)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten())
    by_hand = -(logits.log_softmax(-1)[[0, 0, 1], [0, 1, 0], [4, 0, 2]]).mean()
    torch.testing.assert_close(loss, by_hand)


def test_documents_as_sentences_are_padded_in_both_directions():
    documents = Documents.of([7, 3], [["a", "b", "x"], ["b"]], label=[1, 0], sentences=[[2, 1], [1]])
    dataset = EncodedSentences(documents, Vocabulary(["a", "b"]))
    batch = dataset.__getitems__([1, 0])
    assert {key: values.tolist() for key, values in batch.items()} == {
        "id": [3, 7],
        "label": [0, 1],
        "token_ids": [[[3, 0], [0, 0]], [[2, 3], [1, 0]]],
        "mask": [[[True, False], [False, False]], [[True, True], [True, False]]],
        "sentence_mask": [[True, False], [True, True]],
    }
    assert dataset.units_of(7) == ["a b", "x"]
    torch.testing.assert_close(batch["mask"].any(dim=-1), batch["sentence_mask"])
