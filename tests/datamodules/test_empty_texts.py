"""A text without tokens is refused before training, by its row."""

from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.vocabulary import Vocabulary


def corpus(*texts):
    fine = Documents.of([0, 1], [["a"], ["b"]], label=[0, 1])
    tested = Documents.of(range(len(texts)), texts, label=[0] * len(texts))
    return Corpus(fine, fine, tested, Vocabulary(["a", "b"]), ("no", "yes"))


def test_an_empty_text_is_named_by_its_row(refusal):
    with refusal():
        corpus(["a"], [], ["b"]).require_texts("Mine")


def test_an_empty_split_is_named(refusal):
    with refusal():
        corpus().require_texts("Mine")


def test_texts_with_tokens_pass():
    whole = corpus(["a"])
    assert whole.require_texts("Mine") is whole
