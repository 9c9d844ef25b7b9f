"""The recipes, beside plain Python that says the same the long way."""

import string
import time

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest.datamodules.tokenisers import (
    LONGEST,
    newsgroup_tokens,
    review_tokens,
    sentence_lengths,
    spacy_tokens,
    split_sentences,
    tokenise_sentences,
    treebank_tokens,
)

TEXT = st.text(st.sampled_from(list("abZ éÉ.'!,-\t\n\x85\xa01(<\"")), max_size=40)
WORDS = ["It", "was", "Mr.", "U.S.", "good.", "bad!", "'s", '"Why?"', "-", "3.5", "the", "...", "\x85the"]
PROSE = st.lists(st.sampled_from(WORDS), max_size=15)


def tokens(tokeniser, text):
    return tokeniser(pa.array([text], pa.string())).to_pylist()[0]


@given(TEXT)
def test_review_words_are_those_of_a_translation_table(text):
    blanks = str.maketrans(dict.fromkeys(string.punctuation.replace("'", "") + "\t\n", " "))
    lower = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
    assert tokens(review_tokens, text) == [word for word in text.translate(blanks).translate(lower).split(" ") if word]


@pytest.mark.parametrize(
    ("tokeniser", "text", "expected"),
    [
        (review_tokens, "It's <br />GOOD, really\u2014É!", ["it's", "br", "good", "really\u2014É"]),
        (treebank_tokens, "-LRB- It 's \\/ great -RRB-!", ["it", "s", "great"]),
        (treebank_tokens, "cannot", ["can", "not"]),
        (newsgroup_tokens, "Don't   call 555-1234 , ok", ["do", "n", "'", "t", "call", "qqq", "qqq", "ok"]),
        (newsgroup_tokens, "The end.", ["the", "end", "."]),
        (spacy_tokens, "Don't  shout!", ["do", "n't", "shout", "!"]),
    ],
)
def test_a_recipe_by_hand(tokeniser, text, expected):
    assert tokens(tokeniser, text) == expected


@given(TEXT)
def test_sentences_joined_are_the_text(text):
    assert "".join(split_sentences(text)) == text


@settings(deadline=None)
@pytest.mark.parametrize("tokeniser", [review_tokens, treebank_tokens, newsgroup_tokens, spacy_tokens])
@given(PROSE)
def test_cutting_into_sentences_changes_no_token(tokeniser, words):
    text = pa.array([" ".join(words)], pa.string())
    cut, lengths = tokenise_sentences(text, tokeniser)
    assert cut.to_pylist() == tokeniser(text).to_pylist()
    assert sum(lengths.to_pylist()[0]) == len(cut.to_pylist()[0])
    assert 0 not in lengths.to_pylist()[0]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ("Mr. Smith of the U.S. Army met J. Doe.", ["Mr. Smith of the U.S. Army met J. Doe."]),
        ('He said "No." Then he left.', ['He said "No." ', "Then he left."]),
        ("It cost 3.5 dollars. 4 of them", ["It cost 3.5 dollars. ", "4 of them"]),
        ("etc. and so on", ["etc. and so on"]),
        ("Good<br /><br />Bad", ["Good<br /><br />", "Bad"]),
        ("Good\n\nbad", ["Good\n\n", "bad"]),
        ("", []),
    ],
)
def test_sentences_by_hand(text, sentences):
    assert split_sentences(text) == sentences


def test_tokenised_texts_end_a_sentence_after_a_mark_and_at_the_longest():
    assert list(sentence_lengths(["a", "b", ".", "c", "!", "d"])) == [3, 2, 1]
    assert list(sentence_lengths(["很", "好", "。", "不", "！"])) == [3, 2]
    assert list(sentence_lengths(["a"] * (2 * LONGEST + 1))) == [LONGEST, LONGEST, 1]


@pytest.mark.parametrize("unit", ["a", ".", " ", "\n ", "<br", ". ", ".'", "a.", "<br />"])
def test_no_text_takes_quadratic_time(unit):
    started = time.monotonic()
    assert "".join(split_sentences(unit * 100_000)) == unit * 100_000
    assert time.monotonic() - started < 5  # a tenth of a second where time is linear, minutes where it is not
