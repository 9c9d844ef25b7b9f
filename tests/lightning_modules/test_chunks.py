"""Chunk and token F1 against seqeval and scikit-learn; ten batches are one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from sklearn.metrics import f1_score as token_f1_score

from attest.lightning_modules.chunks import chunk_counts, f1_of_counts, token_counts

TAGS = ("O", "B-NP", "I-NP", "B-VP", "I-VP")


def sentences(seed: int, rows: int):
    generator = torch.Generator().manual_seed(seed)
    real = torch.arange(9) < torch.randint(1, 10, (rows, 1), generator=generator)
    gold = torch.randint(0, len(TAGS), (rows, 9), generator=generator)
    guess = torch.where(
        torch.rand(rows, 9, generator=generator) < 0.6, gold, torch.randint(0, 5, (rows, 9), generator=generator)
    )
    return guess, gold.where(real, -100)


def named(tags, gold):
    return [[TAGS[tag] for tag in row[real].tolist()] for row, real in zip(tags, gold >= 0, strict=True)]


def f1(counts, guess, gold, rows: int = 1) -> float:
    """Over batches of so many rows."""
    parts = zip(guess.split(rows), gold.split(rows), strict=True)
    return f1_of_counts(torch.cat([counts(*part, TAGS) for part in parts])).item()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 12))
def test_chunk_f1_is_seqevals_in_one_batch_or_many(seed, rows):
    guess, gold = sentences(seed, rows)
    expected = f1_score(named(gold, gold), named(guess, gold), mode="strict", scheme=IOB2, zero_division=0)
    assert f1(chunk_counts, guess, gold, 3) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 12))
def test_token_f1_is_scikit_learns_without_outside(seed, rows):
    guess, gold = sentences(seed, rows)
    real = gold >= 0
    expected = token_f1_score(gold[real], guess[real], labels=[1, 2, 3, 4], average="micro", zero_division=0)
    assert f1(token_counts, guess, gold) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("counts", [chunk_counts, token_counts])
def test_both_ends_of_the_range(counts):
    _, gold = sentences(0, 5)
    assert f1(counts, gold, gold) == 1
    assert f1(counts, torch.zeros_like(gold), gold) == 0
    assert f1(counts, torch.zeros(1, 3).long(), torch.zeros(1, 3).long()) == 0
    assert counts(gold[:0], gold[:0], TAGS).shape == (0, 3), "a rank without sentences"


def test_a_chunk_one_token_too_long_is_wrong_and_most_of_its_tokens_right():
    gold = torch.tensor([[1, 2, 0]])
    guess = torch.tensor([[1, 2, 2]])
    assert f1(chunk_counts, guess, gold) == 0
    assert f1(token_counts, guess, gold) == pytest.approx(0.8)
