"""From strings to words: the recipes of the papers, each a function from an Arrow array of texts to one of token lists.

All of them keep this law, so that documents can be cut into sentences without changing a token: cutting a text after a blank
and tokenising the pieces gives the tokens of the whole.
"""

import re
import string
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.corpus import TOKENS

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer

Tokeniser = Callable[[pa.Array], pa.Array]
"""Texts, strings ``(N,)`` -> tokens, lists of strings ``(N,)``."""
SEPARATORS = "[" + re.escape(string.punctuation.replace("'", "")) + r"\t\n]"


@cache
def english() -> "Tokenizer":
    """spaCy's blank English tokenizer: rules only, no model to download."""
    import spacy  # half a second that other corpora need not wait for

    return spacy.blank("en").tokenizer


def _spacy_words(texts: Iterable[str]) -> list[list[str]]:
    """Lower-cased spaCy tokens, blanks left out."""
    return [[token.text.lower() for token in text if not token.is_space] for text in english().pipe(texts)]


def spacy_tokens(texts: pa.Array) -> pa.Array:
    """spaCy's blank English tokenizer, then lower case."""
    return pa.array(_spacy_words(texts.to_pylist()), TOKENS)


def treebank_tokens(texts: pa.Array) -> pa.Array:
    """Jain & Wallace's SST: brackets and all non-word characters become blanks, then ``spacy_tokens``."""
    return pa.array(_spacy_words(words_only(text) for text in texts.to_pylist()), TOKENS)


def words_only(text: str) -> str:
    """Brackets and every run of characters that are no letters, digits or underscores become one blank."""
    text = text.replace("-LRB-", "").replace("-RRB-", " ")
    return re.sub(r"\W+", " ", text).strip()


def review_tokens(texts: pa.Array) -> pa.Array:
    """The words of Keras' IMDb index, which Jain & Wallace start from.

    ASCII punctuation except the apostrophe, tabs and newlines separate words, as blanks do, so that ``<br />`` leaves the
    word ``br``; ASCII letters alone are lower-cased.
    """
    words = pc.split_pattern(pc.ascii_lower(pc.replace_substring_regex(texts, SEPARATORS, " ")), " ")
    return keep_tokens(words, pc.not_equal(pc.list_flatten(words), ""))


def newsgroup_tokens(texts: pa.Array) -> pa.Array:
    """Jain & Wallace's 20 Newsgroups: spaCy tokens, lower case, ``qqq`` for a token with a digit.

    Of each run of non-word characters, blanks among them, only the last is kept, so that punctuation between blanks
    disappears while apostrophes stay as tokens.
    """
    texts = texts.to_pylist()
    tokens = _spacy_words(" ".join(text.split()) for text in texts)
    return pa.array([_without_punctuation(words, text) for words, text in zip(tokens, texts, strict=True)], TOKENS)


def masked_tokens(texts: pa.Array) -> pa.Array:
    """Jain & Wallace's AG News: spaCy tokens, lower case, ``qqq`` for a token with a digit; punctuation is kept."""
    return pa.array([_masked(words) for words in _spacy_words(" ".join(text.split()) for text in texts.to_pylist())], TOKENS)


def _masked(words: list[str]) -> list[str]:
    return ["qqq" if any(map(str.isdigit, word)) else word for word in words]


def _without_punctuation(words: list[str], text: str) -> list[str]:
    masked = " ".join(_masked(words))
    followed = " " if text[-1:].isspace() else ""  # the run goes on into the next piece
    return re.sub(r"(\W)+", r" \1 ", masked + followed).split()


def keep_tokens(texts: pa.Array, keep: pa.Array) -> pa.Array:
    """Token lists without some of their tokens.

    Args:
        texts: lists ``(N,)``.
        keep: bool, one a token of all texts.
    """
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    ends = np.concatenate([[0], np.cumsum(pc.list_value_length(texts))])
    return pa.ListArray.from_arrays(pa.array(kept_before[ends], pa.int32()), pc.list_flatten(texts).filter(keep))
