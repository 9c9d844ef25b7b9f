"""A corpus is prepared once, whatever starts at once, stops half-way or breaks."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from attest.datamodules.cache import prepared
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.vocabulary import Vocabulary


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    return tmp_path / "corpora"


def small(word: str = "a") -> Corpus:
    def split(first: int) -> Documents:
        texts = [[word, "b"], ["c"]]
        return Documents.of(
            [first, first + 1], texts, label=[0, 1], rationale=[[True, False], [True]], sentences=[[1, 1], [1]]
        )

    return Corpus(split(0), split(10), split(20), Vocabulary([word, "b"]), ("no", "yes"))


def counted(preparations: list[str], word: str = "a"):
    def prepare() -> Corpus:
        preparations.append(word)
        return small(word)

    return prepare


def assert_equal(found: Corpus, expected: Corpus) -> None:
    for split in ("train", "validation", "test"):
        assert getattr(found, split).table.to_pydict() == getattr(expected, split).table.to_pydict()
    assert found.vocabulary.words == expected.vocabulary.words
    assert found.label_names == expected.label_names


def test_the_second_time_nothing_is_prepared(folder):
    preparations: list[str] = []
    first, second = (prepared("small", {"content": "x"}, counted(preparations)) for _ in range(2))
    assert preparations == ["a"]
    assert_equal(first, small())
    assert_equal(second, small())


def test_other_settings_are_prepared_anew(folder):
    preparations: list[str] = []
    for settings in ({"content": "x"}, {"content": "y"}, {"content": "x", "sentences": True}):
        prepared("small", settings, counted(preparations))
    assert len(preparations) == 3


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b""), lambda path: os.truncate(path, 500)])
def test_a_broken_file_is_made_anew(folder, damage, capsys):
    prepared("small", {}, small)
    (path,) = folder.glob("*.arrow")
    damage(path)
    assert_equal(prepared("small", {}, small), small())
    assert f"{path} cannot be read" in capsys.readouterr().out
    assert_equal(prepared("small", {}, lambda: pytest.fail("the file was not mended")), small())


def test_a_preparation_that_fails_leaves_no_file(folder):
    def fail() -> Corpus:
        raise KeyError("half-way")

    with pytest.raises(KeyError, match="half-way"):
        prepared("small", {}, fail)
    assert [path.suffix for path in folder.iterdir()] == [".lock"]


def test_where_nothing_can_be_written_the_corpus_is_prepared_all_the_same(tmp_path, monkeypatch, capsys):
    file = tmp_path / "file"
    file.write_text("no folder")
    monkeypatch.setenv("ATTEST_CACHE", str(file))
    assert_equal(prepared("small", {}, small), small())
    assert f"cannot be kept in {file}" in capsys.readouterr().out


def _prepare_slowly(log: str) -> None:
    def prepare() -> Corpus:
        with open(log, "a") as lines:
            lines.write(f"{os.getpid()}\n")
        time.sleep(0.5)
        return small()

    assert_equal(prepared("small", {}, prepare), small())


def test_processes_that_start_at_once_prepare_once(folder, tmp_path):
    log = tmp_path / "log"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_prepare_slowly, args=(str(log),)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(log.read_text().splitlines()) == 1
