"""Errors of the measure, counted over networks whose truth is known.

A network has three answers. *Truth*: the share of texts in which the explanation is right by replacement, as yes, in part or
no (``guess_of``: yes from .9, no below .5). *Measured*: the same of the measured share. *Verdict*: what a report would say
after these texts, which may be that it cannot tell.

A *false yes* is a network whose truth is not yes, and which is answered yes; a *false no* is one whose truth is not no, and
which is answered no. Networks without a text that needs words in truth are left out.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from attest.core.measures.summary import share_interval
from attest.experiments.verdict import CANNOT_TELL, IN_PART, LOOKS, NO, YES, answer_of, guess_of, share_of

THREE = (YES, IN_PART, NO)
BY = ("measured", "verdict")
"""Who answers: the measured share alone, or the verdict."""


class Error(NamedTuple):
    """How often networks are answered wrongly."""

    wrong: int
    """The number of networks that are."""
    networks: int
    """The number of networks that could be."""
    mechanisms: int
    """The number of their mechanisms."""
    low: float
    high: float
    """A 95 % interval of the share, over mechanisms, because networks of one mechanism may be alike."""


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the networks that count, with their ``mechanism`` and the answers ``is``, ``measured`` and ``verdict``.

    Args:
        rows: one a network, with ``value``, ``look``, ``kind``, ``needs``, ``measured`` and ``truth``.
    """
    known = rows.dropna(subset="truth")
    return pd.DataFrame(
        {
            "mechanism": known.value + "/" + known.look,
            "kind": known.kind,
            "is": known.truth.map(guess_of),
            "measured": known.measured.map(lambda share: CANNOT_TELL if math.isnan(share) else guess_of(share)),
            "verdict": [_verdict(*each) for each in zip(known.measured, known.needs, strict=True)],
        }
    )


def _verdict(share: float, texts: float) -> str:
    if texts < LOOKS[0]:
        return CANNOT_TELL
    right = round(share * texts)
    found = share_of(pd.Series(np.repeat([1.0, 0.0], [right, int(texts) - right])))
    return CANNOT_TELL if found is None else answer_of(found)


def false(answer: str, answers: pd.DataFrame, by: str) -> Error:
    """Return how often networks whose truth is another answer get this answer; ``by`` is one of ``BY``."""
    others = answers[answers["is"] != answer]
    wrong = (others[by] == answer).to_numpy(float)
    low, high = share_interval(wrong, others.mechanism.to_numpy()) if len(wrong) else (math.nan, math.nan)
    return Error(int(wrong.sum()), len(wrong), others.mechanism.nunique(), low, high)


def crossed(answers: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return a table, header first: the networks with each truth by what was answered."""
    columns = [("measured", each) for each in THREE] + [("verdict", each) for each in (*THREE, CANNOT_TELL)]
    rows = [("truth", "networks", *(f"{by}: {answer}" for by, answer in columns))]
    for truth in THREE:
        some = answers[answers["is"] == truth]
        rows.append((truth, str(len(some)), *(str((some[by] == answer).sum()) for by, answer in columns)))
    return rows
