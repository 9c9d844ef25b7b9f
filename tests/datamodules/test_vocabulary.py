"""scikit-learn's CountVectorizer, which the papers' code uses, is the witness."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from attest.datamodules.vocabulary import UNKNOWN, Vocabulary

WORDS = st.sampled_from(["a", "b", "c", "d", "É", "the", ""])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=8)


@given(TEXTS, st.integers(1, 3))
def test_words_are_those_of_count_vectorizer(texts, min_df):
    witness = CountVectorizer(analyzer=lambda tokens: tokens, min_df=min_df)
    try:
        witness.fit(texts)
        expected = sorted(witness.vocabulary_)
    except ValueError:  # it refuses a vocabulary without words
        expected = []
    assert list(Vocabulary.fit(texts, min_df).words) == expected


@given(TEXTS, st.integers(1, 8))
def test_a_cap_keeps_the_words_of_most_texts(texts, cap):
    frequency = {word: sum(word in text for text in texts) for text in texts for word in text}
    kept = Vocabulary.fit(texts, max_words=cap).words
    assert len(kept) == min(cap, len(frequency))
    assert list(kept) == sorted(kept)
    left_out = set(frequency) - set(kept)
    assert all(frequency[word] <= min(map(frequency.get, kept)) for word in left_out)


@given(TEXTS, st.lists(WORDS, max_size=8))
def test_a_split_is_encoded_as_its_words_are(texts, tokens):
    vocabulary = Vocabulary.fit(texts, min_df=2)
    assert vocabulary.encode_all(pa.array(tokens, pa.string())).tolist() == vocabulary.encode(tokens)


def test_an_unseen_word_is_one_symbol():
    vocabulary = Vocabulary.fit([["a", "b"], ["b"]])
    assert vocabulary.encode(["a", "b", "x", "y"]) == [2, 3, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("min_df", [1, 2])
def test_a_word_counts_once_a_text(min_df):
    assert Vocabulary.fit([["a", "a", "a"]], min_df).words == (("a",) if min_df == 1 else ())
