"""A text without tokens is refused before training, by its row."""

import pytest

from attest.core.errors import AttestError
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.vocabulary import Vocabulary


def corpus(*texts):
    fine = Documents.of([0, 1], [["a"], ["b"]], label=[0, 1])
    tested = Documents.of(range(len(texts)), texts, label=[0] * len(texts))
    return Corpus(fine, fine, tested, Vocabulary(["a", "b"]), ("no", "yes"))


def test_an_empty_text_is_named_by_its_row():
    with pytest.raises(AttestError, match=r"Mine: the test split has 1 texts empty after tokenising \(rows \[1\]\)"):
        corpus(["a"], [], ["b"]).require_texts("Mine")


def test_an_empty_split_is_named():
    with pytest.raises(AttestError, match="Mine: the test split has no texts"):
        corpus().require_texts("Mine")


def test_texts_with_tokens_pass():
    whole = corpus(["a"])
    assert whole.require_texts("Mine") is whole
