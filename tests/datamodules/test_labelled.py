"""Texts as their source has them, for models with a tokenizer of their own."""

import pytest

from attest.datamodules.forms import Tags
from attest.datamodules.instances import FileOptions
from attest.datamodules.labelled import labelled


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("corpus", "texts", "begins", "label"),
    [
        ("sst", 1821, "If you sometimes like to go to the movies to have fun ,", "positive"),
        ("imdb", 25000, "Once again Mr. Costner has dragged out a movie", "negative"),
        ("20news", 773, "Yes. It was the strangest series", "rec.sport.baseball"),
    ],
)
def test_corpora_are_read_with_case_and_punctuation(corpus, texts, begins, label):
    assert len(labelled(corpus, "test", 3).texts) == 3
    read = labelled(corpus, "test", texts)
    assert (read.of, len(read.texts)) == (texts, texts)
    assert read.texts[0].startswith(begins)
    assert read.labels[0] == label


@pytest.mark.corpora
def test_tagged_corpora_are_read_word_by_word():
    read = labelled("conll2000", "test", 2012, FileOptions(form=Tags()))
    assert read.texts[0][:2] == ["Rockwell", "International"]
    assert read.labels[0][:2] == ["B-NP", "I-NP"]
