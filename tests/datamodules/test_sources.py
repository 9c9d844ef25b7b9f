"""Corpora come from the folder, or from public sources in the same shape; what is missing or different is named."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, List, Value
from sklearn.datasets import _twenty_newsgroups

from attest.core.errors import AttestError
from attest.datamodules import (
    AgNewsDataModule,
    Conll2000DataModule,
    ImdbDataModule,
    NewsgroupsDataModule,
    SstDataModule,
)
from attest.datamodules.conll2000 import TAGS
from attest.datamodules.newsgroups import fetched, stripped
from attest.datamodules.sources import Fingerprint
from benchmarks.counts import checked

IMDB = {"text": ["Good film", "Bad film"] * 40, "label": [1, 0] * 40}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    return tmp_path


def write(path: Path, **columns) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_a_folder_is_read(folder, capsys):
    for split in ("train", "test"):
        write(folder / "imdb" / f"{split}.parquet", **IMDB)
    module = ImdbDataModule(protocol="plain", min_df=1)
    assert module.corpus.vocabulary.words == ("bad", "film", "good")
    assert [len(module.corpus.train), len(module.corpus.validation), len(module.corpus.test)] == [72, 8, 80]
    said = capsys.readouterr().out
    assert "imdb: the train split of the folder in ATTEST_DATA contains 80 instances instead of 25,000" in said


@pytest.mark.parametrize(
    "prepare",
    [
        lambda path: None,
        lambda path: write(path, sentence=["x"]),
        lambda path: write(path, text=["x"]).write_bytes(b"PAR1"),
    ],
)
def test_a_folder_without_the_corpus_says_what_it_lacks(folder, prepare, refusal):
    (folder / "sst").mkdir()
    prepare(folder / "sst" / "train.parquet")
    with refusal():
        _ = SstDataModule().corpus


def test_a_corpus_that_cannot_be_read_has_a_row_in_the_check(folder):
    (row,) = checked("sst")
    assert row[-3] == "not checked"
    assert "sst/train.parquet" in row[-1]


@pytest.mark.parametrize("texts", [["a", "b", "c"], ["c", "a", "b"], ["a", "b"], ["a", "b", "d"], ["a", "b", "c "]])
def test_a_difference_of_content_is_said_in_words(texts, snapshot):
    known = Fingerprint.of(pa.table({"text": ["a", "b", "c"], "label": [0, 1, 0]}))
    table = pa.table({"text": texts, "label": [{"a": 0, "b": 1, "c": 0}.get(text, 0) for text in texts]})
    assert Fingerprint.of(table).difference(known) == snapshot


def test_a_fingerprint_knows_content_alone(tmp_path):
    table = pa.table({"text": ["a", "b"], "tags": [["x"], []]})
    pq.write_table(table, tmp_path / "a.parquet", compression="gzip", row_group_size=1)
    assert Fingerprint.of(pq.read_table(tmp_path / "a.parquet")) == Fingerprint.of(table)


@pytest.fixture
def public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder laid out as a Hub repository is, and no ATTEST_DATA."""
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    return tmp_path / "repository"


def publish(repository: Path, split: str, dataset: Dataset) -> None:
    (repository / "data").mkdir(parents=True, exist_ok=True)
    dataset.to_parquet(repository / "data" / f"{split}-00000-of-00001.parquet")


def test_imdb_comes_from_the_hub(public, monkeypatch):
    features = Features({"text": Value("string"), "label": ClassLabel(names=["neg", "pos"])})
    for split in ("train", "test"):
        publish(public, split, Dataset.from_dict(IMDB, features=features))
    monkeypatch.setattr(ImdbDataModule, "hub", str(public))
    module = ImdbDataModule(protocol="plain", min_df=1)
    assert module.corpus.test.labels.tolist() == IMDB["label"]
    assert module.corpus.test.tokens[:2] == [["good", "film"], ["bad", "film"]]


def test_sst_comes_from_the_hub_with_its_five_classes(public, monkeypatch):
    rows = {
        "text": ["Good .", "So so .", "Bad ."],
        "label": [4, 2, 0],
        "label_text": ["very positive", "neutral", "very negative"],
    }
    for split in ("train", "validation", "test"):
        publish(public, split, Dataset.from_dict(rows))
    monkeypatch.setattr(SstDataModule, "hub", str(public))
    corpus = SstDataModule(protocol="plain").corpus
    assert corpus.validation.labels.tolist() == [1, 0]
    assert corpus.validation.ids.tolist() == [0, 2]


NEWS = [
    {"label": 3, "title": "Oil up", "description": "Oil rose  to $54.20."},
    {"label": 2, "title": "Cup", "description": "A goal."},
    {"label": 1, "title": "Vote", "description": "Polls open in Kabul."},
    {"label": 4, "title": "Probe", "description": "A probe lands."},
] * 10


def test_agnews_comes_from_the_hub_with_two_of_its_four_classes(public, monkeypatch):
    public.mkdir()
    for split in ("train", "test"):
        (public / f"{split}.jsonl").write_text("\n".join(map(json.dumps, NEWS)))
    monkeypatch.setattr(AgNewsDataModule, "hub", str(public))
    corpus = AgNewsDataModule(protocol="jw-paper").corpus
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [18, 2, 20]
    assert corpus.test.labels.tolist() == [1, 0] * 10
    assert corpus.test.ids.tolist()[:4] == [0, 2, 4, 6]
    assert corpus.test.tokens[:2] == [["oil", "rose", "to", "$", "qqq", "."], ["polls", "open", "in", "kabul", "."]]
    assert AgNewsDataModule(protocol="plain").corpus.test.tokens[1] == ["vote", "polls", "open", "in", "kabul", "."]


def test_agnews_numbered_from_zero_is_refused(folder, refusal):
    for split in ("train", "test"):
        write(folder / "agnews" / f"{split}.parquet", label=[0, 1, 2, 3], title=["x"] * 4, description=["y"] * 4)
    with refusal():
        _ = AgNewsDataModule().corpus


def test_conll2000_comes_from_the_hub_without_its_empty_last_sentence(public, monkeypatch):
    tags = List(ClassLabel(names=list(TAGS)))
    features = Features({"id": Value("string"), "tokens": List(Value("string")), "pos_tags": tags, "chunk_tags": tags})
    sentences = [["He", "ran"]] * 10 + [[]]
    numbers = [[TAGS.index("B-NP"), TAGS.index("B-VP")]] * 10 + [[]]
    rows = {"id": list(map(str, range(11))), "tokens": sentences, "pos_tags": numbers, "chunk_tags": numbers}
    for split in ("train", "test"):
        publish(public, split, Dataset.from_dict(rows, features=features))
    monkeypatch.setattr(Conll2000DataModule, "hub", str(public))
    module = Conll2000DataModule()
    assert [len(module.corpus.train), len(module.corpus.validation), len(module.corpus.test)] == [9, 1, 10]
    batch = module.test.__getitems__([0])
    assert [module.label_names[tag] for tag in batch["tags"][0]] == ["B-NP", "B-VP"]
    assert module.num_classes == 23
    assert module.positive_weight == 1.0


def test_20news_comes_from_the_fetcher_in_the_order_of_its_files(public, monkeypatch, tmp_path):
    archive = tmp_path / "sklearn" / "20news_home"
    for split in ("train", "test"):
        for group, posts in (("rec.sport.baseball", 3), ("rec.sport.hockey", 4)):
            for post in range(posts):
                file = archive / f"20news-bydate-{split}" / group / str(post)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"From: x\n\n{split} {group} {post}")
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
    _pack_as_scikit_learn_does(archive)
    table = fetched("test")
    expected = [f"test rec.sport.baseball {n}" for n in range(3)] + [f"test rec.sport.hockey {n}" for n in range(4)]
    assert [stripped(text) for text in table["text"].to_pylist()] == expected
    assert table["label_text"].to_pylist() == ["rec.sport.baseball"] * 3 + ["rec.sport.hockey"] * 4


def _pack_as_scikit_learn_does(archive: Path) -> None:
    import codecs
    import pickle

    from sklearn.datasets import load_files

    cache = {split: load_files(str(archive / f"20news-bydate-{split}"), encoding="latin1") for split in ("train", "test")}
    packed = codecs.encode(pickle.dumps(cache), "zlib_codec")
    (archive.parent / "20news-bydate_py3.pkz").write_bytes(packed)


def test_a_post_loses_header_signature_and_quotation():
    post = "From: a@b\nSubject: hockey\n\nJoe writes:\n> old\nNew words\n\n-- \nsigned"
    assert stripped(post) == "New words"


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Hub out of reach, a server that refuses every connection, and nothing downloaded earlier."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    archive = _twenty_newsgroups.ARCHIVE._replace(url=f"http://127.0.0.1:{port}")
    monkeypatch.setattr("sklearn.datasets._twenty_newsgroups.ARCHIVE", archive)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (ImdbDataModule, "stanfordnlp/imdb"),
        (SstDataModule, "SetFit/sst5"),
        (AgNewsDataModule, "sh0416/ag_news"),
        (Conll2000DataModule, "eriktks/conll2000"),
        (NewsgroupsDataModule, "20 Newsgroups"),
    ],
)
def test_without_network_and_folder_it_says_what_to_do(module, name):
    why = "(cannot be reached|is not asked, because HF_HUB_OFFLINE is set); "
    with pytest.raises(AttestError, match=rf"{name} is not on this machine, and .* {why}.*export ATTEST_DATA="):
        _ = module().corpus


def test_rows_are_shuffled_as_the_fetcher_shuffles_both_subsets_together():
    from attest.datamodules.newsgroups import _pooled_order

    train, test = np.arange(5), np.arange(5, 9)
    np.random.RandomState(0).shuffle(train)
    np.random.RandomState(0).shuffle(test)
    pooled = np.concatenate([train, test])
    np.random.RandomState(42).shuffle(pooled)
    chosen = np.array([0, 2, 3, 6, 8])
    assert chosen[_pooled_order(chosen, 5, 4)].tolist() == [row for row in pooled if row in chosen]


def test_importing_the_package_does_not_import_what_local_files_do_not_need():
    command = "import sys, datamodules; print([name for name in ('datasets', 'spacy') if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
