"""The verdict in words."""

import pytest
from syrupy.assertion import SnapshotAssertion

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, YES, Share, Verdict
from attest.report.answer import SINK, UNLABELLED, advised, instead, sentence, told

RANDOM = Share(0.06, 0.02, 0.13, 80)
BETTER = ("gradient_input_signed", Share(0.96, 0.88, 0.99, 80))


def found(answer: str, **changed: object) -> Verdict:
    return Verdict(answer, Share(0.48, 0.35, 0.62, 80), RANDOM, 100)._replace(**changed)


@pytest.mark.parametrize("answer", [YES, IN_PART, NO, NOT_LEARNED])
def test_each_answer_is_one_plain_sentence(answer: str, snapshot: SnapshotAssertion) -> None:
    assert sentence(found(answer), "attention", unjudged="") == snapshot


def test_another_explanation_is_named(snapshot: SnapshotAssertion) -> None:
    assert sentence(found(NO, random=None), "attention rollout", unjudged="") == snapshot


@pytest.mark.parametrize(
    ("changed", "unjudged"),
    [
        ({"guess": NO, "more": 40}, ""),
        ({"guess": YES}, UNLABELLED),
        ({"share": Share(0.5, 0.2, 0.8, 12), "guess": IN_PART, "more": 30}, ""),
        ({"disagree": True, "guess": NO}, ""),
        ({"share": None, "random": None}, ""),
    ],
    ids=["more", "unlabelled", "few", "disagree", "none"],
)
def test_why_nothing_can_be_told(changed: dict[str, object], unjudged: str, snapshot: SnapshotAssertion) -> None:
    assert sentence(found(CANNOT_TELL, **changed), "attention", unjudged) == snapshot


def test_what_to_read_instead(snapshot: SnapshotAssertion) -> None:
    assert instead(found(NO, instead=BETTER), "attention") == snapshot
    assert instead(found(IN_PART), "attention") == snapshot
    without = ("without_sink", Share(0.61, 0.5, 0.71, 67))
    assert str(instead(found(NO, instead=without), "attention")).replace("\xa0", " ") == (
        f"Attention without its sink, {SINK}, does in 61 % [50 %, 71 %] of the 67 texts that have such words: leave the "
        "sink out."
    )
    assert [instead(found(answer), "attention") for answer in (YES, CANNOT_TELL, NOT_LEARNED)] == [None] * 3


def test_nothing_is_said_of_other_readings_where_none_was_asked() -> None:
    assert instead(found(NO, compared=False), "attention") is None


def test_what_to_show(snapshot: SnapshotAssertion) -> None:
    sink = found(IN_PART, instead=("without_sink", RANDOM))
    asked = [found(YES), found(NO), found(NO, instead=BETTER), sink, found(CANNOT_TELL)]
    assert [advised(each, "attention rollout") for each in asked] == snapshot


def test_the_summary_holds_the_answer_with_its_interval() -> None:
    said = told(found(NO, instead=BETTER, guess=None), "No. Never.", "Read it.")
    share = {"value": 0.06, "low": 0.02, "high": 0.13, "texts": 80}
    assert said == {
        "answer": "no",
        "sentence": "No. Never.",
        "share": 0.48,
        "low": 0.35,
        "high": 0.62,
        "texts": 80,
        "read": 100,
        "random": share,
        "instead": {"reading": "gradient_input_signed", "value": 0.96, "low": 0.88, "high": 0.99, "texts": 80},
        "advice": "Read it.",
        "guess": None,
        "more": None,
    }
    nothing = told(found(CANNOT_TELL, share=None, random=None), "Cannot tell.")
    assert [nothing[name] for name in ("share", "low", "high", "texts", "random", "instead")] == [None] * 6
