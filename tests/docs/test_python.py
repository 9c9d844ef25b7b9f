"""The pages on Python and on metrics say what works: their code runs, in order, and comes to what the page says."""

import re
from pathlib import Path

import pytest

import attest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
METRIC = PAGE.with_name("your-own-metric.md")
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.whole("a page whose code trains")
def test_the_code_of_the_page_runs(small_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "trial.html").is_file()
    assert names["kept"].summary == names["trial"].summary
    assert [list(tokens) for tokens in names["again"].table()["tokens"]] == [
        ["the", "plot", "is", "superb"],
        ["dull"] * 2 + ["plot"],
    ]
    assert names["look_at"](small_run.path).experiments == ["E2", "instances"]


@pytest.mark.whole("a population of networks")
def test_the_metric_of_its_page_is_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", METRIC.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, str(METRIC), "exec"), names)
    assert {"metric", "E14"} <= {test.partition(" ")[0] for test in names["judged"].test}


def test_the_words_of_its_training_are_choices_and_options():
    block = next(block for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL) if "def train_small" in block)
    asked: dict = {}
    stand_in = type("attest", (), {"train": staticmethod(lambda **words: asked.update(words))})
    names = {"attest": stand_in}
    exec(block, names)
    names["train_small"]("runs")
    assert asked.keys() - {"arguments"} <= {"data", "model", "seed", "logger", "root"}


def test_all_of_the_public_functions_stand_in_its_table():
    documented = set(re.findall(r"^\| `attest\.(\w+)\(", TEXT, flags=re.MULTILINE))
    assert documented == {name for name in attest.__all__ if name.islower()}
