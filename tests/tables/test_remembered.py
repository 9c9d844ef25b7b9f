"""Names that were resolved before: the same names, for the same code, and only of what was typed in words and numbers."""

from pathlib import Path

import pytest

from attest.runs import remembered
from attest.runs.words import OURS
from attest.tables.locate import RunLocator
from attest.tables.remembered import RememberedNames

TYPED = ("DATA=imdb", "MODEL=transformer-dr", "--data.init_args.max_tokens=200", "--run.root=somewhere")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    return tmp_path


def unable_to_resolve(self, arguments):
    raise AssertionError(f"{arguments} was resolved")


def planned(typed=TYPED) -> Path:
    """Where a run lies, by a plan that remembers."""
    locate = RunLocator()
    folder = locate(typed)
    locate.keep()
    return folder


def test_a_second_plan_resolves_nothing_and_says_the_same(cache, monkeypatch):
    resolved = planned()
    monkeypatch.setattr("attest.runs.pieces.Pieces.resolve", unable_to_resolve)
    assert planned() == resolved
    assert planned((*TYPED[:3], "--run.root=elsewhere")) == Path("elsewhere", *resolved.parts[1:])


def test_another_value_is_another_name(cache):
    assert planned() != planned((*TYPED[:2], "--data.init_args.max_tokens=100", TYPED[3]))


def test_other_code_resolves_anew(cache, monkeypatch):
    planned()
    monkeypatch.setattr(remembered, "_fingerprint", lambda: "of other code")
    monkeypatch.setattr("attest.runs.pieces.Pieces.resolve", unable_to_resolve)
    with pytest.raises(AssertionError, match="was resolved"):
        planned()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"names": 3}'])
def test_a_broken_file_is_as_none(cache, text):
    (cache / "names.json").write_text(text)
    names = RememberedNames()
    assert names[TYPED] is None
    names["DATA=sst",] = ("sst", "jw", "0")
    names.keep()
    assert RememberedNames()["DATA=sst",] == ("sst", "jw", "0")


def test_a_cache_that_cannot_be_written_changes_nothing(cache, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(cache / "file"))
    (cache / "file").write_text("in the way")
    assert planned().parts[:2] == ("somewhere", "imdb")


def test_two_plans_at_once_keep_what_both_have_resolved(cache):
    one, other = RememberedNames(), RememberedNames()
    one["DATA=sst",] = ("sst", "one", "0")
    other["DATA=imdb",] = ("imdb", "other", "0")
    one.keep()
    other.keep()
    assert RememberedNames()["DATA=sst",] == ("sst", "one", "0")
    assert RememberedNames()["DATA=imdb",] == ("imdb", "other", "0")


@pytest.mark.parametrize(
    "argument", ["DATA=sst", "PROJECTION=sparsegen:-1", "PROJECTION=entmax:1.5", "--optimizer.init_args.lr=1e-3", "SEED=2"]
)
def test_words_and_numbers_are_remembered(argument):
    assert OURS.fullmatch(argument)


@pytest.mark.parametrize(
    "argument",
    [
        "MODEL=mine.yaml",
        "--config=mine.yaml",
        "--data.init_args.train=corpus/train.csv",
        "--model=mine.Network",
        "--config",
        "a",
    ],
)
def test_files_and_classes_that_may_change_are_not(argument):
    assert not OURS.fullmatch(argument)
