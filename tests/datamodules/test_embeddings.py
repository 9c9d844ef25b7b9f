"""Pretrained vectors land at their words' token ids, and a file that is none is told apart."""

from contextlib import suppress

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attest.core.errors import AttestError
from attest.datamodules import PlantedDataModule
from attest.datamodules.vocabulary import Vocabulary
from attest.datamodules.word_vectors import read_vectors

VOCABULARY = Vocabulary(["cat", "dog", "été"])
NUMBERS = st.sampled_from([b"1", b"-0.5", b"1e-1", b"nan", b"inf", b"1e999", b"x", b"", b"\xff"])
LINES = st.tuples(st.sampled_from([b"cat", b"dog", b"2", b"the cat", b""]), st.lists(NUMBERS, max_size=3)).map(
    lambda line: b" ".join([line[0], *line[1]])
)
"""Lines much like those of a file of vectors."""


def vectors(tmp_path, content: str | bytes):
    path = tmp_path / "vectors.vec"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_vectors(path, VOCABULARY)


@pytest.mark.parametrize(
    "content",
    [
        "4 2\ncat 1 2 \nbird 5 6\nété -0.5 1e-1\ncat 9 9\n",  # fastText, word2vec: a header, blanks at line ends
        "cat 1 2\nété -0.5 1e-1\nbird 5 6\ncat 9 9\n",  # GloVe: none
        "cat 1 2\nété -0.5 1e-1\ncat flap 7 7\n. . . 3 3\n",  # GloVe 840B: words with blanks
        "2 2\r\ncat 1 2\r\nété -0.5 1e-1\r\n",
    ],
)
def test_the_first_vector_of_each_known_word_is_taken(tmp_path, content):
    expected = torch.tensor([[0.0, 0], [0, 0], [1, 2], [0, 0], [-0.5, 0.1]])
    torch.testing.assert_close(vectors(tmp_path, content), expected)


@pytest.mark.parametrize(
    "content",
    [
        "cat 1 2\ndog 1 x\n",
        "cat 1 2\ndog 1\n",
        "cat 1 2\ndog 1 nan\n",
        "bird 1 2\n",
        "",
        b"2 2\ncat \x00\x00\x80?\x00\x00\x80?\n",
    ],
)
def test_a_file_that_is_no_table_of_vectors_is_refused(tmp_path, content, refusal):
    with refusal():
        vectors(tmp_path, content)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(AttestError, match=r"The file .*nowhere\.vec does not exist"):
        read_vectors(tmp_path / "nowhere.vec", VOCABULARY)


def test_a_data_module_gives_the_vectors_of_its_vocabulary_and_says_how_many(tmp_path, capsys):
    path = tmp_path / "small.vec"
    path.write_text("2 3\nthe 1 2 3\nplot 4 5 6\n")
    module = PlantedDataModule(train_texts=50, validation_texts=5, test_texts=5, embeddings=str(path))
    weights = module.pretrained_embeddings
    assert weights.shape == (module.vocab_size, 3)
    (the,) = module.corpus.vocabulary.encode(["the"])
    assert weights[the].tolist() == [1, 2, 3]
    assert "2 of" in capsys.readouterr().out
    assert PlantedDataModule(train_texts=50).pretrained_embeddings is None


@settings(max_examples=150)
@given(content=st.one_of(st.binary(max_size=80), st.lists(LINES, max_size=4).map(b"\n".join)))
def test_no_content_whatever_makes_more_than_a_readable_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "x.vec"
    path.write_bytes(content)
    with suppress(AttestError):
        weights = read_vectors(path, VOCABULARY)
        assert weights.shape[0] == len(VOCABULARY)
        assert weights.isfinite().all()
        assert (weights[:2] == 0).all()
