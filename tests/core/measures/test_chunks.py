"""Chunk and token F1 against seqeval and scikit-learn; ten batches are one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from sklearn.metrics import f1_score as token_f1_score

from attest.core.measures.chunks import chunk_counts, f1_of_counts, has_chunks, of_scheme, token_counts

TAGS = ("O", "B-NP", "I-NP", "B-VP", "I-VP")
IOBES = ("O", "B-X", "I-X", "E-X", "S-X", "S-Y", "I-Y", "B-Y", "E-Y")


def strict(predicted, gold, names):
    return chunk_counts(predicted, gold, names)[:, :3]


def as_conll(predicted, gold, names):
    return chunk_counts(predicted, gold, names)[:, 3:]


def sentences(seed: int, rows: int, tags: int = len(TAGS)):
    generator = torch.Generator().manual_seed(seed)
    real = torch.arange(9) < torch.randint(1, 10, (rows, 1), generator=generator)
    gold = torch.randint(0, tags, (rows, 9), generator=generator)
    guess = torch.where(
        torch.rand(rows, 9, generator=generator) < 0.6, gold, torch.randint(0, tags, (rows, 9), generator=generator)
    )
    return guess, gold.where(real, -100)


def named(tags, gold, names=TAGS):
    return [[names[tag] for tag in row[real].tolist()] for row, real in zip(tags, gold >= 0, strict=True)]


def f1(counts, guess, gold, rows: int = 1, names=TAGS) -> float:
    """Over batches of so many rows."""
    parts = zip(guess.split(rows), gold.split(rows), strict=True)
    return f1_of_counts(torch.cat([counts(*part, names) for part in parts])).item()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 12))
def test_chunk_f1_is_seqevals_in_one_batch_or_many(seed, rows):
    guess, gold = sentences(seed, rows)
    expected = f1_score(named(gold, gold), named(guess, gold), mode="strict", scheme=IOB2, zero_division=0)
    assert f1(strict, guess, gold, 3) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 12), names=st.sampled_from([TAGS, IOBES]))
def test_chunk_f1_of_other_schemes_is_seqevals_default(seed, rows, names):
    guess, gold = sentences(seed, rows, len(names))
    gold = gold.where(torch.rand(gold.shape, generator=torch.Generator().manual_seed(seed)) < 0.8, -100)  # no word's first
    gold[:, 0] = 1
    expected = f1_score(named(gold, gold, names), named(guess, gold, names))
    assert f1(as_conll, guess, gold, 3, names) == pytest.approx(expected, abs=1e-6)


def test_the_gold_chunks_of_a_split_say_which_scheme_it_is():
    iob2, iob1 = torch.tensor([[1, 2, 0, 3]]), torch.tensor([[2, 2, 0, 4]])
    begun_with_i = torch.tensor([[2, 2, 0, 3]])
    counts = [chunk_counts(begun_with_i, iob2, TAGS), chunk_counts(iob1, iob1, TAGS)]
    assert of_scheme(counts[0]).tolist() == [[1, 1, 2]], "of IOB2 a chunk begins with B-"
    assert of_scheme(counts[1]).tolist() == [[2, 2, 2]], "a tagger without a mistake"
    assert of_scheme(torch.cat(counts)).tolist() == [[2, 2, 2], [2, 2, 2]], "one sentence says it of the split"
    single = torch.tensor([[1, 3, 0, 4]])
    assert of_scheme(chunk_counts(single, single, IOBES)).tolist() == [[2, 2, 2]]


@pytest.mark.parametrize(
    ("names", "chunks"),
    [
        (TAGS, True),
        (("o", "b-np", "i-np"), True),
        (("O", "B-X", "L-X", "U-X"), True),
        (("NN", "VB"), False),
        (("O", "B-X", "PER"), False),
        (("O",), False),
    ],
)
def test_tags_that_mark_no_chunks_have_no_chunk_f1(names, chunks):
    tags = torch.tensor([[0, 1 % len(names)]])
    assert has_chunks(names) is chunks
    assert math.isnan(f1(as_conll, tags, tags, names=names)) is not chunks


def test_names_in_small_letters_and_of_bilou_are_read_alike():
    gold, guess = torch.tensor([[1, 2, 2, 0, 3, 3]]), torch.tensor([[1, 2, 2, 0, 3, 0]])
    for names, counts in ((("o", "b-x", "i-x", "s-x"), [2, 2, 3]), (("O", "B-X", "L-X", "U-X"), [3, 3, 4])):
        assert of_scheme(chunk_counts(guess, gold, names)).tolist() == [counts]
        assert token_counts(guess, gold, names).tolist() == [[4, 4, 5]]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 12))
def test_token_f1_is_scikit_learns_without_outside(seed, rows):
    guess, gold = sentences(seed, rows)
    real = gold >= 0
    expected = token_f1_score(gold[real], guess[real], labels=[1, 2, 3, 4], average="micro", zero_division=0)
    assert f1(token_counts, guess, gold) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("counts", [strict, as_conll, token_counts])
def test_both_ends_of_the_range(counts):
    _, gold = sentences(0, 5)
    assert f1(counts, gold, gold) == 1
    assert f1(counts, torch.zeros_like(gold), gold) == 0
    assert math.isnan(f1(counts, torch.zeros(1, 3).long(), torch.zeros(1, 3).long())), "nothing to find, nothing found"
    assert counts(gold[:0], gold[:0], TAGS).shape == (0, 3), "a rank without sentences"


def test_a_chunk_one_token_too_long_is_wrong_and_most_of_its_tokens_right():
    gold = torch.tensor([[1, 2, 0]])
    guess = torch.tensor([[1, 2, 2]])
    assert f1(strict, guess, gold) == 0
    assert f1(token_counts, guess, gold) == pytest.approx(0.8)
