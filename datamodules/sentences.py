"""Documents as sentences, split by rule, for networks that read words into sentences and sentences into a document."""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.tokenisers import Tokeniser

BLANK = "[ \\t\\n]"
"""What every tokeniser splits at; other white space is part of a word in some."""
BOUNDARY = re.compile(
    rf"""(?P<mark>(?<![.!?…])[.!?…]+)["'”’)\]]*{BLANK}+(?=["'“‘(\[]*[A-Z0-9])"""  # a mark, a blank, a capital or digit
    rf"|(?:<br\s*/?>{BLANK}*)+"  # line breaks of a web page
    rf"|\n{BLANK}*\n{BLANK}*"  # an empty line
)
ABBREVIATION = re.compile(r"(?i)(?:mr|mrs|ms|dr|prof|st|vs|jr|sr|rev|gen|lt|col|capt|[a-z]|(?:[a-z]\.)+[a-z])")
"""What a full stop may follow without ending a sentence: titles, initials, ``U.S.``"""
LONGEST = 50
"""Tokens after which a sentence is cut: without it one run-on sentence pads all others of its batch to its length."""
LONGEST_ABBREVIATION = 12
SENTENCE_ENDS = frozenset({".", "!", "?", "…"})


def split_sentences(text: str) -> list[str]:
    """Cut a text after its sentences; joined together they are the text again.

    A sentence ends at a mark that a blank and a capital or a digit follow, unless the mark is the stop of an abbreviation,
    at a line break of a web page and at an empty line.
    """
    ends = [match.end() for match in BOUNDARY.finditer(text) if not _abbreviates(match)]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def _abbreviates(match: re.Match[str]) -> bool:
    """Whether what ends in this stop is an abbreviation; a longer word than the window is none."""
    if match["mark"] != ".":
        return False
    before = match.string[max(0, match.start() - LONGEST_ABBREVIATION) : match.start()]
    word = re.split(r"\s", before)[-1].lstrip("\"'“‘([")
    return ABBREVIATION.fullmatch(word) is not None


def tokenise_sentences(texts: pa.Array, tokeniser: Tokeniser) -> tuple[pa.Array, pa.Array]:
    """Tokenise texts sentence by sentence.

    Returns:
        Tokens, lists of strings ``(N,)``, those that the tokeniser gives for whole texts (spaCy's may tell apart what a line
        break of a web page joins); and the number of tokens in each sentence, lists of int64 ``(N,)``. Sentences without
        tokens are left out, and long ones cut, see ``LONGEST``.
    """
    pieces = [split_sentences(text) for text in texts.to_pylist()]
    tokens = tokeniser(pa.array([piece for text in pieces for piece in text], pa.string()))
    lengths = pc.list_value_length(tokens).to_numpy()
    last_piece = np.cumsum([len(text) for text in pieces])
    ends = np.concatenate([[0], np.cumsum(lengths)])[np.concatenate([[0], last_piece])]
    by_text = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pc.list_flatten(tokens))
    sentences = [list(_cut_long(part.tolist())) for part in np.split(lengths, last_piece[:-1])]
    return by_text, pa.array(sentences, pa.list_(pa.int64()))


def sentence_lengths(tokens: Iterable[str]) -> Iterator[int]:
    """Tokens in each sentence of a text that is tokenised already: a sentence ends after a mark."""
    return _cut_long(_between_marks(tokens))


def _cut_long(lengths: Iterable[int]) -> Iterator[int]:
    """Sentences of more than ``LONGEST`` tokens in pieces of so many; none of no tokens."""
    for length in lengths:
        yield from [LONGEST] * (length // LONGEST)
        if length % LONGEST:
            yield length % LONGEST


def _between_marks(tokens: Iterable[str]) -> Iterator[int]:
    length = 0
    for token in tokens:
        length += 1
        if token in SENTENCE_ENDS:
            yield length
            length = 0
    if length:
        yield length
