"""``python -m benchmarks.counts`` prints our counts beside the published ones, and says why a corpus cannot be counted."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.counts import checked

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


def test_every_claim_has_a_row_and_what_differs_is_said(corpus, capsys):
    assert len(checked("imdb")) > 1
    assert "contains 80 instances instead of 25,000" in capsys.readouterr().out


def test_what_cannot_be_read_is_named(corpus):
    (corpus / "test.parquet").write_bytes(b"PAR1")
    assert [row[-3] for row in checked("imdb")] == ["not checked"]
    write(corpus / "test.parquet", REVIEWS)
    assert len(checked("imdb")) > 1
