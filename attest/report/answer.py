"""The first line of every report: may the attention be read as an explanation? In one sentence, with its error."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from attest.core.measures.numbers import percent
from attest.experiments.registry import measures
from attest.experiments.verdict import CANNOT_TELL, FEWEST, IN_PART, NO, NOT_LEARNED, YES, Verdict, judged

ABOUT = ("tokens", "states")
POINTS = {"tokens": "the words that decide", "states": "the hidden states that decide"}


def answered(
    tables: Mapping[str, pd.DataFrame], inside: bool, learned: bool | None
) -> dict[str, Verdict]:
    """Return the verdicts about tokens and about states that the evidence allows, by what they are about.

    Args:
        tables: one row a text, by experiment.
        inside: whether attention is inside layers alone.
        learned: whether the model does better than a constant answer; None if nobody knows.
    """
    found = {about: judged(tables, about, inside, learned) for about in ABOUT}
    return {about: each for about, each in found.items() if each is not None}


def sentence(about: str, found: Verdict, inside: bool, labelled: bool) -> str:
    """Return the answer as a sentence that a reader without knowledge of attention understands.

    Args:
        about: tokens or states.
        found: the verdict.
        inside: whether attention is inside layers alone.
        labelled: whether the labels of the texts are known.
    """
    attention = "attention, followed through all layers," if inside else "attention"
    where = POINTS[about]
    if found.answer == NOT_LEARNED:
        return "No answer. The model has not learned its task, so nothing explains its decisions."
    share = percent(found.share or 0.0)
    if found.answer == YES:
        return f"Yes. In about {share} of texts its {attention} points at {where}."
    if found.answer == IN_PART:
        return f"In part. In about {share} of texts its {attention} points at {where}, in the others beside them."
    if found.answer == NO:
        return f"No. In about {percent(1 - (found.share or 0.0))} of texts its {attention} points beside {where}."
    return f"Cannot tell. {_why(found, labelled)}"


def _why(found: Verdict, labelled: bool) -> str:
    if found.texts < FEWEST:
        return f"Only {found.texts} texts were read; an answer takes {FEWEST} or more."
    if found.lacking:
        return f"Also run {' and '.join(found.lacking)}: together they decide more often."
    if not labelled:
        return "Nobody knows whether the model has learned its task: give the labels of the texts."
    return "On networks whose truth is known, evidence like this stood for more than one answer."


def error(found: Verdict) -> str | None:
    """Return a sentence on how often such an answer is wrong; None if there is no answer."""
    if found.wrong is None:
        return None
    rate, _, high = found.wrong
    return (
        f"On networks whose truth is known, {percent(rate)} of such answers were wrong (at most {percent(high)}, 95 % bound; "
        f"{found.tried_on} mechanisms that the rule had never seen)."
    )


def reasons(found: Verdict) -> list[str]:
    """Return the two or three numbers that carry a verdict, with their names."""
    known = measures()
    return [f"{known[key].title if key in known else key}: {value:.2f}" for key, value in found.because.items()]


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


__all__ = ["CANNOT_TELL", "answered", "error", "reasons", "sentence", "told"]
