"""The page of models that are asked by both verdicts."""

import json

import pytest

from benchmarks.deciding.models import KEPT, PAGE, stated
from benchmarks.deciding.models_page import answer_in, page

SHARE = {"share": 0.375, "low": 0.25, "high": 0.5, "texts": 40, "read": 60}
BESIDE = {"instead": {"reading": "leave_one_out"}, "random": {"value": 0.05, "low": 0.01, "high": 0.2}}
NEW = {
    "code": 0,
    "seconds": 60,
    "summary": {
        "verdict": {"tokens": {"answer": "no", **SHARE, **BESIDE}},
        "test/accuracy": 0.75,
        "E19/right/mean": 0.375,
        "E19/right_random/mean": 0.05,
        "E19/right_gradient_input_signed/mean": 0.5,
        "E19/right_leave_one_out/mean": 0.9,
    },
}
OLD = {"code": 0, "seconds": 120, "summary": {"verdict": {"tokens": {"answer": "cannot tell"}}}}
STATED = {
    "stated": "2026-11-28",
    "old": "d16c3a90",
    "models": [{"name": "a", "cut": "3 epochs"}, {"name": "b"}, {"name": "c"}],
}


def test_a_line_has_both_answers_and_the_share_with_its_texts():
    text = page({"a": {"new": NEW, "old": OLD}, "b": {"new": NEW}}, STATED)
    (line,) = [line for line in text.splitlines() if line.startswith("| a ")]
    said = line.replace("\N{NO-BREAK SPACE}", " ")
    measured = "no: 38 % [25 %, 50 %] of 40 of 60"
    assert said == f"| a | 75 % | cannot tell | {measured} | 5.0 % | **Leave-one-out 90 %** |"
    assert "a: 3 epochs" in text
    assert "b; c." in text  # a model that only one version was asked is left out
    assert "for 0 of 1 models" in text
    assert "| cannot tell | 0 | 0 | 1 | 0 | 0 |" in text
    assert "Of 1 models with a share, that of attention lies above that of a random order in 1" in text
    assert "In 1 another reading" in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"code": None, "summary": {}}, "stopped after 6 minutes"),
        ({"code": 1, "summary": {}}, "exit code 1"),
        ({"code": 0, "summary": {"test/accuracy": 0.5}}, "no answer"),
        ({"code": 0, "summary": {"verdict": {"tokens": {"answer": "not learned"}}}}, "no answer"),
    ],
)
def test_a_model_without_an_answer_says_why(found, said):
    assert answer_in(found) == said


def test_the_page_is_that_of_what_was_kept():
    """Where this fails, type: python -m benchmarks.deciding.models page."""
    assert page(json.loads(KEPT.read_text(encoding="utf-8")), stated()) == PAGE.read_text(encoding="utf-8")
