"""The page on what to do after an answer knows every answer, and quotes what a verdict says."""

from pathlib import Path

import pytest

from attest.experiments.verdict import ANSWERS, CANNOT_TELL, IN_PART, NO, NOT_LEARNED, Share, Verdict
from attest.report.answer import NEEDS_E19, NO_WORDS, NOT_BETTER, UNKEPT, UNLABELLED, doubt, sentence

PAGE = (Path(__file__).parents[2] / "docs" / "what-now.md").read_text(encoding="utf-8")
FEW, MANY = Share(0.4, 0.2, 0.7, 7), Share(0.4, 0.2, 0.7, 80)
UNKNOWN = Verdict(CANNOT_TELL, MANY, None, 80)


def test_every_answer_has_a_section():
    titles = {line.removeprefix("## ").lower() for line in PAGE.splitlines() if line.startswith("## ")}
    assert titles == {"no answer" if answer == NOT_LEARNED else answer for answer in ANSWERS}


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (doubt(UNKNOWN._replace(share=FEW, guess=NO), ""), "An answer needs at least 20 texts in which words decide"),
        (
            doubt(UNKNOWN._replace(guess=NO, more=40), ""),
            "Most likely it is “no”; about 40 more texts in which words decide would tell",
        ),
        (doubt(UNKNOWN._replace(guess=IN_PART), ""), "Most likely it is “in part”; more texts would tell"),
        (
            doubt(UNKNOWN._replace(guess=NO, disagree=True), ""),
            "But two sets of neutral words give different shares, and no answer fits both",
        ),
        (sentence(UNKNOWN._replace(share=None), "attention", ""), "texts that were read do words decide"),
        (NOT_BETTER, "The model is not shown to be better than chance on these texts"),
        (NEEDS_E19, "An answer needs the experiment E19"),
        (NO_WORDS, "this model attends to whole sentences"),
        (UNKEPT.format("instances"), "because the table instances is missing"),
        (UNLABELLED, "Without labels, nobody knows whether the model has learned its task"),
    ],
)
def test_what_it_quotes_is_what_a_verdict_says(said, quoted):
    assert quoted in said
    assert f"{quoted}*" in PAGE
