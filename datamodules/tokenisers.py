"""The tokenisers of the papers, which map an Arrow array of texts to an array of token lists, and a splitter of sentences.

All tokenisers follow one rule: if a text is cut after a blank, the tokens of the pieces are the tokens of the whole text. So
sentences have the tokens of their text.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.sentence_ends import ENDS
from attest.datamodules.corpus import TOKENS

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer


Tokeniser = Callable[[pa.Array], pa.Array]
"""A function from N texts, an Arrow array of strings, to the tokens of each text, an Arrow array of lists of strings."""
SEPARATORS = "[" + re.escape(string.punctuation.replace("'", "")) + r"\t\n]"


@cache
def english() -> "Tokenizer":
    """Return spaCy's blank English tokenizer, which has rules only and needs no download."""
    import spacy  # half a second that other corpora need not wait for

    return spacy.blank("en").tokenizer


def _spacy_words(texts: Iterable[str]) -> list[list[str]]:
    return [[token.text.lower() for token in text if not token.is_space] for text in english().pipe(texts)]


def spacy_tokens(texts: pa.Array) -> pa.Array:
    """Tokenise texts by spaCy's blank English tokenizer, in lower case."""
    return pa.array(_spacy_words(texts.to_pylist()), TOKENS)


def treebank_tokens(texts: pa.Array) -> pa.Array:
    """Tokenise texts as Jain & Wallace do for SST: remove brackets and punctuation, then use ``spacy_tokens``."""
    bare = (text.replace("-LRB-", "").replace("-RRB-", " ") for text in texts.to_pylist())
    return pa.array(_spacy_words(re.sub(r"\W+", " ", text).strip() for text in bare), TOKENS)


def review_tokens(texts: pa.Array) -> pa.Array:
    """Split texts into words as in the IMDb word index of Keras, which Jain & Wallace use.

    Blanks, tabs, newlines and ASCII punctuation except the apostrophe separate words, so that ``<br />`` leaves the
    word ``br``; only ASCII letters are lower-cased.
    """
    words = pc.split_pattern(pc.ascii_lower(pc.replace_substring_regex(texts, SEPARATORS, " ")), " ")
    return keep_tokens(words, pc.not_equal(pc.list_flatten(words), ""))


def newsgroup_tokens(texts: pa.Array) -> pa.Array:
    """Tokenise texts as Jain & Wallace do for 20 Newsgroups: spaCy, lower case, ``qqq`` for a token with a digit.

    Of each run of non-word characters, blanks among them, only the last is kept, so that punctuation between blanks
    disappears while apostrophes stay as tokens.
    """
    texts, tokens = texts.to_pylist(), []
    for words, text in zip(_masked_words(texts), texts, strict=True):
        followed = " " if text[-1:].isspace() else ""  # the run goes on into the next piece
        tokens.append(re.sub(r"(\W)+", r" \1 ", " ".join(words) + followed).split())
    return pa.array(tokens, TOKENS)


def masked_tokens(texts: pa.Array) -> pa.Array:
    """Tokenise texts as Jain & Wallace do for AG News: spaCy, lower case, punctuation kept, ``qqq`` for words with a digit."""
    return pa.array(_masked_words(texts.to_pylist()), TOKENS)


def _masked_words(texts: list[str]) -> list[list[str]]:
    squeezed = (" ".join(text.split()) for text in texts)
    return [["qqq" if any(map(str.isdigit, word)) else word for word in words] for words in _spacy_words(squeezed)]


def keep_tokens(texts: pa.Array, keep: pa.Array) -> pa.Array:
    """Return the token lists without the tokens for which ``keep`` is False."""
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    ends = np.concatenate([[0], np.cumsum(pc.list_value_length(texts))])
    return pa.ListArray.from_arrays(pa.array(kept_before[ends], pa.int32()), pc.list_flatten(texts).filter(keep))


BLANK = "[ \\t\\n]"
"""A pattern for the white space at which all tokenisers split. Some tokenisers take other white space for a part of a word."""
BOUNDARY = re.compile(
    rf"""(?P<mark>(?<![.!?…])[.!?…]+)["'”’)\]]*{BLANK}+(?=["'“‘(\[]*[A-Z0-9])"""  # a mark, a blank, a capital or digit
    rf"|(?:<br\s*/?>{BLANK}*)+"  # line breaks of a web page
    rf"|\n{BLANK}*\n{BLANK}*"  # an empty line
)
ABBREVIATION = re.compile(r"(?i)(?:mr|mrs|ms|dr|prof|st|vs|jr|sr|rev|gen|lt|col|capt|[a-z]|(?:[a-z]\.)+[a-z])")
"""Matches words after which a full stop does not end a sentence: titles such as ``Mr``, single letters, and abbreviations such
as ``U.S.``"""
LONGEST = 50
"""The largest number of tokens in a sentence. A longer sentence is cut, because all other sentences of its batch would be
padded to its length."""
LONGEST_ABBREVIATION = 12
SENTENCE_ENDS = frozenset({".", "!", "?", "…", *ENDS})


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, which give the unchanged text when they are joined.

    A sentence ends at an empty line, at a line break of a web page, and at a mark before a blank and a capital or a digit,
    unless the mark is the full stop of an abbreviation.
    """
    ends = [match.end() for match in BOUNDARY.finditer(text) if not _abbreviates(match)]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def _abbreviates(match: re.Match[str]) -> bool:
    if match["mark"] != ".":
        return False
    before = match.string[max(0, match.start() - LONGEST_ABBREVIATION) : match.start()]
    word = re.split(r"\s", before)[-1].lstrip("\"'“‘([")
    return ABBREVIATION.fullmatch(word) is not None


def tokenise_sentences(texts: pa.Array, tokeniser: Tokeniser) -> tuple[pa.Array, pa.Array]:
    """Tokenise texts sentence by sentence.

    Returns:
        The tokens, lists of strings ``(N,)``, the same as for whole texts (but spaCy's tokenizer may split a word that
        contains a line break of a web page); and the number of tokens in each sentence, lists of int64 ``(N,)``. Sentences
        without tokens are left out, and sentences longer than ``LONGEST`` are cut into several.
    """
    pieces = [split_sentences(text) for text in texts.to_pylist()]
    tokens = tokeniser(pa.array([piece for text in pieces for piece in text], pa.string()))
    lengths = pc.list_value_length(tokens).to_numpy()
    last_piece = np.cumsum([len(text) for text in pieces])
    ends = np.concatenate([[0], np.cumsum(lengths)])[np.concatenate([[0], last_piece])]
    by_text = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pc.list_flatten(tokens))
    sentences = [[cut for length in part.tolist() for cut in _cut_long(length)] for part in np.split(lengths, last_piece[:-1])]
    return by_text, pa.array(sentences, pa.list_(pa.int64()))


def sentence_lengths(tokens: Iterable[str]) -> Iterator[int]:
    """Return the number of tokens in each sentence of a tokenised text; a punctuation mark ends a sentence."""
    length = 0
    for token in tokens:
        length += 1
        if token in SENTENCE_ENDS:
            yield from _cut_long(length)
            length = 0
    yield from _cut_long(length)


def _cut_long(length: int) -> list[int]:
    whole, rest = divmod(length, LONGEST)
    return [LONGEST] * whole + [rest] * (rest > 0)
