"""``attest data --check`` counts a corpus once: the second check of the same files says the same and reads nothing."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attest.cli import data
from tests.cli.test_door import HEAVY, loaded_by

REVIEWS = tuple(f"A {judgement} film . " * times for times in range(10, 50) for judgement in ("bad", "good"))
"""The published protocols leave out rare words, and the shortest and longest texts."""


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A folder with a small corpus in the format of ``imdb``."""
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    (tmp_path / "imdb").mkdir()
    for split in ("train", "test"):
        write(tmp_path / "imdb" / f"{split}.parquet", REVIEWS)
    return tmp_path / "imdb"


def write(path, texts):
    pq.write_table(pa.table({"text": list(texts), "label": [0, 1] * (len(texts) // 2)}), path)


def unable_to_count(name):
    raise AssertionError(f"{name} was counted")


def test_a_second_check_counts_nothing_and_says_the_same(corpus, monkeypatch, capsys):
    rows, said = data.checked("imdb"), capsys.readouterr().out
    monkeypatch.setattr(data, "_counted", unable_to_count)
    assert data.checked("imdb") == rows
    assert capsys.readouterr().out == said
    assert "holds 80 instances instead of 25,000" in said


@pytest.mark.parametrize("split", ["train", "test"])
def test_files_of_another_content_are_counted_anew(corpus, monkeypatch, split):
    data.checked("imdb")
    write(corpus / f"{split}.parquet", ("A film .",) * 80)
    monkeypatch.setattr(data, "_counted", unable_to_count)
    with pytest.raises(AssertionError, match="imdb was counted"):
        data.checked("imdb")


def test_what_cannot_be_read_is_not_remembered(corpus):
    (corpus / "test.parquet").write_bytes(b"PAR1")
    assert [row[-3] for row in data.checked("imdb")] == ["not checked"]
    write(corpus / "test.parquet", REVIEWS)
    assert len(data.checked("imdb")) > 1


@pytest.mark.slow
def test_a_second_check_loads_nothing_of_training(corpus):
    data.checked("imdb")
    assert loaded_by([["data", "--check", "imdb"]], [*HEAVY, "torch"]) == []
