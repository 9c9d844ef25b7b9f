"""Pretrained word vectors from a text file: fastText's ``.vec``, GloVe's ``.txt`` or word2vec's text format."""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from attest.compute.vector_files import first_line
from attest.datamodules.vocabulary import SPECIALS, Vocabulary
from attest.errors import AttestError

NOT_TEXT = "expected text, a word and its numbers on each line, as fastText (.vec), GloVe (.txt) or word2vec (text) write it"


def read_vectors(path: Path, vocabulary: Vocabulary) -> Tensor:
    """The vectors of the words that a vocabulary knows; the first vector of a word counts.

    Returns:
        float32 ``(V, E)``, by token id; zeros for padding, unknown and words without a vector.
    Raises:
        AttestError: there is no such file, it is no text, a line is no vector, or no word of the vocabulary has one.
    """
    rows = rows_of_words(vocabulary)
    found: dict[int, np.ndarray] = {}
    for word, vector in _vectors(path, rows.keys()):
        found.setdefault(rows[word], vector)
    if not found:
        raise AttestError(
            f"{path} has no vector for any of the {len(rows):,} words of the vocabulary; expected vectors of the language and "
            "letter case of the corpus (most corpora here are lower-cased). Give another file: EMBEDDINGS=<file>"
        )
    weights = np.zeros((len(vocabulary), len(next(iter(found.values())))), dtype=np.float32)
    weights[list(found)] = np.stack(list(found.values()))
    return torch.from_numpy(weights)


def rows_of_words(vocabulary: Vocabulary) -> dict[str, int]:
    """The token id of each word."""
    return {word: index for index, word in enumerate(vocabulary.words, start=len(SPECIALS))}


def _vectors(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Word and vector of each line whose word is wanted; other lines are not parsed, which makes a large file bearable."""
    first_words = {word.encode() for word in wanted}
    size = 0
    for number, line in enumerate(_lines(path), start=1):
        fields = line.rstrip().split(b" ")
        if number == 1:
            size, header = first_line(fields)
            if header:
                continue
        if fields[0] in first_words:
            word = b" ".join(fields[:-size]).decode(errors="replace")  # GloVe has words with blanks
            vector = _numbers(fields[-size:], size, f"{path} line {number}")
            if word in wanted:
                yield word, vector


def _lines(path: Path) -> Iterator[bytes]:
    if not path.is_file():
        raise AttestError(f"There is no file {path}; {NOT_TEXT}. Give its path: EMBEDDINGS=<file>")
    with path.open("rb") as lines:
        yield from lines


def _numbers(fields: list[bytes], size: int, where: str) -> np.ndarray:
    try:
        vector = np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError:
        vector = np.empty(0, dtype=np.float32)
    if len(vector) != size or not size or not np.isfinite(vector).all():
        raise AttestError(f"{where} is not a word and {size} finite numbers; {NOT_TEXT}. Give another file.")
    return vector
