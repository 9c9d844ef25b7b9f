"""Titles of numbers are those of the experiments, and are asked for once."""

import pytest

from attest.report import described
from attest.report.described import SCORES, newer
from attest.report.titles import label_of, titles


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    titles.cache_clear()
    yield
    titles.cache_clear()


def test_they_are_those_of_the_experiments_in_the_order_of_the_report():
    measures = described.described()
    assert list(titles().labels) == list(measures)
    assert all(titles().labels[key].endswith(measure.title) for key, measure in measures.items())
    assert titles().newer == newer()


def test_a_score_stands_alone_and_a_measure_behind_its_experiment():
    assert [label_of(key) for key in SCORES] == [score.title for score in SCORES.values()]
    assert label_of("E2/flipped") == "E2 decisions flipped"
    assert label_of("E99/unknown") == "E99/unknown"


def test_experiments_are_asked_once(monkeypatch):
    first = titles()
    titles.cache_clear()

    def unable_to_describe():
        raise AssertionError("experiments were asked again")

    monkeypatch.setattr(described, "described", unable_to_describe)
    assert titles() == first
    assert list(titles().labels) == list(first.labels)
