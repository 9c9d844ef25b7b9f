"""The first line of every report: may the attention be read as an explanation? In one sentence, with its error."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from attest.core.measures.numbers import number, percent
from attest.experiments.verdict import FEWEST, IN_PART, NO, NOT_LEARNED, YES, Verdict, judged

ABOUT = ("tokens", "states")
POINTS = {"tokens": "the words that decide", "states": "the hidden states that decide"}


def answered(tables: Mapping[str, pd.DataFrame], inside: bool, learned: bool | None) -> dict[str, Verdict]:
    """Return the verdicts about tokens and about states that the evidence allows, by what they are about.

    Args:
        tables: one row a text, by experiment.
        learned: whether the model does better than a constant answer; None if nobody knows.
    """
    found = {about: judged(tables, about, inside, learned) for about in (ABOUT[:1] if learned is False else ABOUT)}
    return {about: each for about, each in found.items() if each is not None}


def sentence(about: str, found: Verdict, inside: bool, labelled: bool) -> str:
    """Return the answer as a sentence that a reader without knowledge of attention understands."""
    if about == "states":
        return f"For the hidden states that attention weighs: {_said(about, found, inside, labelled)}"
    return _said(about, found, inside, labelled)


def _said(about: str, found: Verdict, inside: bool, labelled: bool) -> str:
    attention = "attention, followed through all layers," if inside else "attention"
    where = POINTS[about]
    if found.answer == NOT_LEARNED:
        return "Nothing to read: the model has not learned its task."
    share = found.share or 0.0
    if found.answer == YES:
        return f"Yes. In {_about(share)} its {attention} points at {where}."
    if found.answer == IN_PART:
        return f"In part. In {_about(share)} its {attention} points at {where}; in the others it misses them."
    if found.answer == NO:
        return f"No. In {_about(1 - share)} its {attention} misses {where}."
    return f"Cannot tell. {_why(found, labelled)}"


def _about(share: float) -> str:
    return "nearly all texts" if share > NEARLY_ALL else f"about {percent(share)} of texts"


NEARLY_ALL = 0.98


def _why(found: Verdict, labelled: bool) -> str:
    if found.texts < FEWEST:
        return f"Only {found.texts} texts were read; an answer takes {FEWEST} or more."
    if found.lacking:
        return f"Run {' and '.join(found.lacking)}, too, on {FEWEST} texts or more: together they decide more often."
    if not labelled:
        return "Nobody knows whether the model has learned its task: give the labels of the texts."
    return "Evidence like this came both from models whose attention is right and from models whose attention is wrong."


def error(wrong: Sequence[float] | None) -> str:
    """Return a sentence on how often such answers are wrong; empty if that was not counted.

    Args:
        wrong: the rate and the ends of its 95 % interval, each in [0, 1].
    """
    if not wrong:
        return ""
    rate, _, high = wrong
    return (
        f"On networks whose truth is known, {percent(rate)} of such answers were wrong (at most {percent(high)}, 95 % bound)."
    )


def error_and_estimate(found: Verdict) -> str | None:
    """Return the same of a verdict, with how far its estimate of the share may be from the truth; None of no answer."""
    if found.wrong is None:
        return None
    return (
        f"{error(found.wrong)} Their {found.tried_on} mechanisms were new to the rule. Nine in ten estimates of the share "
        f"were within {100 * (found.within or 0.0):.0f} points of the truth."
    )


WORDS = {
    "E1/first_leave_one_out_inputs": "the token with the most attention is one whose removal moves the prediction",
    "E1/leads_leave_one_out_inputs": "tokens whose removal moves the prediction have more attention than any other token",
    "E1/first_gradient_inputs": "the token with the most attention is one of large gradient × input",
    "E1/leads_gradient_inputs": "tokens of large gradient × input have more attention than any other token",
    "E1/first_leave_one_out_hidden": "the state with the most attention is one whose removal moves the prediction",
    "E1/leads_leave_one_out_hidden": "states whose removal moves the prediction have more attention than any other state",
    "E14/win_comprehensiveness_delete": "deleting the tokens ranked first does more than deleting random ones",
    "E14/win_sufficiency_delete": "a text of only the tokens ranked first does better than one of only random tokens",
    "E14/win_comprehensiveness_attention": "taking attention from the states ranked first does more than from random ones",
    "E14/win_sufficiency_attention": "attention to only the states ranked first does better than to only random ones",
    "E2/tvd_median": "shuffling the attention moves the prediction, in TVD, by",
}
"""What the columns that a rule may read say, each a share but the last."""


def reasons(found: Verdict) -> list[str]:
    """Return the two or three numbers that carry a verdict, in words."""
    return [
        f"{WORDS.get(key, key)} {number(value)}" if key.endswith("tvd_median") else f"{WORDS.get(key, key)}: {percent(value)}"
        for key, value in found.because.items()
    ]


def told(verdicts: Mapping[str, Verdict], inside: bool, labelled: bool) -> dict[str, Any]:
    """Return verdicts as ``summary.json`` holds them, by what they are about."""
    return {
        about: {
            "answer": each.answer,
            "sentence": sentence(about, each, inside, labelled),
            "share": each.share,
            "within": each.within,
            "wrong": None if each.wrong is None else list(each.wrong),
            "because": dict(each.because),
            "texts": each.texts,
        }
        for about, each in verdicts.items()
    }
