"""The verdict in words."""

import pytest
from syrupy.assertion import SnapshotAssertion

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, YES, Verdict
from attest.report.answer import error_and_estimate, reasons, sentence, told

BECAUSE = {"E1/leads_leave_one_out_inputs": 0.26, "E14/win_sufficiency_delete": 0.61}


def found(answer: str, **changed: object) -> Verdict:
    return Verdict(answer, 0.48, 0.1, [0.03, 0.0, 0.09], 40, BECAUSE, 200)._replace(**changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("about", ["tokens", "states"])
@pytest.mark.parametrize("answer", [YES, IN_PART, NO, CANNOT_TELL, NOT_LEARNED])
def test_each_answer_is_one_plain_sentence(about: str, answer: str, snapshot: SnapshotAssertion) -> None:
    assert sentence(about, found(answer), inside=False, labelled=True) == snapshot


def test_attention_inside_layers_is_named(snapshot: SnapshotAssertion) -> None:
    assert sentence("tokens", found(NO), inside=True, labelled=True) == snapshot


@pytest.mark.parametrize(
    ("changed", "labelled"),
    [({"texts": 12}, True), ({"lacking": ("E14",)}, True), ({}, False)],
    ids=["few", "lacking", "unlabelled"],
)
def test_why_nothing_can_be_told(changed: dict[str, object], labelled: bool, snapshot: SnapshotAssertion) -> None:
    assert sentence("tokens", found(CANNOT_TELL, **changed), inside=False, labelled=labelled) == snapshot


def test_the_error_and_the_reasons_are_told(snapshot: SnapshotAssertion) -> None:
    assert error_and_estimate(found(NO)) == snapshot
    assert error_and_estimate(found(CANNOT_TELL, wrong=None)) is None
    assert reasons(found(NO)) == snapshot


def test_the_summary_holds_the_answer_and_its_sentence() -> None:
    said = told({"tokens": found(NO)}, inside=False, labelled=True)["tokens"]
    assert {**said, "sentence": ""} == {
        "answer": "no",
        "sentence": "",
        "share": 0.48,
        "within": 0.1,
        "wrong": [0.03, 0.0, 0.09],
        "because": BECAUSE,
        "texts": 200,
    }
