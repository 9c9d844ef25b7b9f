"""The first line of every report: one sentence on whether attention may be read as an explanation, and its error rate."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from attest.core.measures.numbers import number, percent
from attest.experiments.verdict import FEWEST, IN_PART, NO, NOT_LEARNED, YES, Verdict, judged

POINTS = {"tokens": "the words that decide", "states": "the hidden states that decide"}
NEARLY_ALL = 0.98


def answered(tables: Mapping[str, pd.DataFrame], inside: bool, learned: bool | None) -> dict[str, Verdict]:
    """Return the verdicts on attention that result tables allow, under the keys ``tokens`` and ``states``.

    Args:
        tables: the table of each experiment, with one row for each text.
        inside: whether attention is inside layers alone.
        learned: whether the model does better than a constant answer; None if nobody knows.
    """
    found = {about: judged(tables, about, inside, learned) for about in (["tokens"] if learned is False else POINTS)}
    return {about: each for about, each in found.items() if each is not None}


def sentence(about: str, found: Verdict, inside: bool, labelled: bool) -> str:
    """Return a verdict as a sentence that a reader without knowledge of attention understands."""
    attention = "attention, followed through all layers," if inside else "attention"
    where, share = POINTS[about], found.share or 0.0
    if found.answer == NOT_LEARNED:
        said = NOT_BETTER
    elif found.answer == YES:
        said = f"Yes. In {_about(share)} the {attention} points at {where}."
    elif found.answer == IN_PART:
        said = f"In part. In {_about(share)} the {attention} points at {where}; in the other texts it misses them."
    elif found.answer == NO:
        said = f"No. In {_about(1 - share)} the {attention} misses {where}."
    else:
        said = f"Cannot tell whether the {attention} points at {where}. {_why(found, labelled)}"
    return f"About hidden states instead of words: {said}" if about == "states" else said


def _about(share: float) -> str:
    return "nearly all texts" if share > NEARLY_ALL else f"about {percent(share)} of texts"


def _why(found: Verdict, labelled: bool) -> str:
    if found.texts < FEWEST:
        return f"Only {found.texts} texts were read, and an answer needs at least {FEWEST}: give more texts."
    if found.lacking:
        return f"An answer is more likely with {_experiments(found.lacking)}, on at least {FEWEST} texts."
    if not labelled:
        return "Without the labels of the texts, nobody knows whether the model has learned its task: give the labels."
    return "The evidence fits both a yes and a no."


def _experiments(names: Sequence[str]) -> str:
    *first, last = names
    return f"the experiments {', '.join(first)} and {last}" if first else f"the experiment {last}"


NOT_BETTER = (
    "No answer. The model is not shown to be better than a constant answer: train it longer, or test it on more texts."
)
OTHER_DECISIONS = {
    "tagged": "gives a tag to each word",
    "prediction": "gives one number for each text",
    "answer": "marks an answer in each text",
}
"""What a model does that does not classify texts, by its table or by a column of its table of texts."""


def unanswerable(there: Collection[str], explanation: str | None, learned: bool | None) -> str | None:
    """Return a sentence that says why no experiment can give a verdict on a model; None if an experiment can.

    Args:
        there: the names of the result tables in the run folder, and of the columns in the table of texts.
        explanation: the name of the tested explanation, if the rule for verdicts was not made for it; else None.
        learned: as in ``answered``.
    """
    if learned is False:
        return NOT_BETTER
    if found := [does for column, does in OTHER_DECISIONS.items() if column in there]:
        return f"No answer. The rule that gives answers was made for models that classify texts, and this model {found[0]}."
    if explanation is not None:
        return f"No answer. The rule that gives answers was not made for {explanation}, which is tested here."
    return None


def needing(experiments: Sequence[str]) -> str:
    """Return a sentence that names the experiments that a verdict needs."""
    return f"No answer. An answer needs the evidence of {_experiments(experiments)}."


def error(wrong: Sequence[float] | None) -> str:
    """Return a sentence on how many verdicts were wrong on networks whose right verdict is known; empty if unknown.

    Args:
        wrong: the rate and the ends of its 95 % interval, each in [0, 1].
    """
    if not wrong:
        return ""
    rate, _, high = wrong
    return (
        f"On networks for which the right answer is known, {percent(rate)} of answers like this one were wrong (95 % upper "
        f"bound: {percent(high)})."
    )


def error_and_estimate(found: Verdict) -> str | None:
    """Return sentences on the error rate of a verdict and the error of its share of texts; None if they are unknown."""
    if found.wrong is None:
        return None
    return (
        f"{error(found.wrong)} The rule that gives answers was made without these networks and their {found.tried_on} "
        f"mechanisms. Nine in ten estimates of the share of texts were within {100 * (found.within or 0.0):.0f} percentage "
        "points of the true share."
    )


WORDS = {
    "E1/first_leave_one_out_inputs": "of the tokens with the most attention, {} move the prediction when they are removed",
    "E1/leads_leave_one_out_inputs": "of the tokens whose removal moves the prediction, {} have the most attention",
    "E1/first_gradient_inputs": "of the tokens with the most attention, {} have a large gradient × input",
    "E1/leads_gradient_inputs": "of the tokens with a large gradient × input, {} have the most attention",
    "E1/first_leave_one_out_hidden": "of the states with the most attention, {} move the prediction when they are removed",
    "E1/leads_leave_one_out_hidden": "of the states whose removal moves the prediction, {} have the most attention",
    "E14/win_comprehensiveness_delete": "deleting the top tokens does more than deleting random ones in {} of comparisons",
    "E14/win_sufficiency_delete": "the top tokens alone do better than random tokens alone in {} of comparisons",
    "E14/win_comprehensiveness_attention": "taking attention from top states does more than from random ones in {} of cases",
    "E14/win_sufficiency_attention": "attention to top states alone does better than to random states alone in {} of cases",
    "E2/tvd_median": "shuffling the attention moves the prediction by {} in total variation distance, which is 0 to 1",
}
"""What the mean over texts of each column says that a rule may read: a share, but for the last."""


def reasons(found: Verdict) -> list[str]:
    """Return a phrase for each of the two or three numbers on which a verdict is based."""
    return [
        WORDS[key].format(number(value) if key.endswith("tvd_median") else percent(value))
        for key, value in found.because.items()
    ]


def told(verdicts: Mapping[str, Verdict], inside: bool, labelled: bool) -> dict[str, Any]:
    """Return verdicts as plain values for ``summary.json``, under the keys ``tokens`` and ``states``."""
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
