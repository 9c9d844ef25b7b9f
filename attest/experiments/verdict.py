"""The verdict: may an explanation be read as what decides? The share of texts in which it points at the words that decide.

E19 measures each text; here its rows become one of five answers. Nothing is fitted. After 20, 40, 80 and 160 texts it is asked
whether the share is known well enough, so each interval holds with 98.75 %, and all four together with 95 %.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.core.measures.summary import by_text, share_interval
from attest.experiments.readings.kinds import RANDOM

YES, IN_PART, NO, CANNOT_TELL, NOT_LEARNED = "yes", "in part", "no", "cannot tell", "not learned"
ANSWERS = (YES, IN_PART, NO, CANNOT_TELL, NOT_LEARNED)
LOOKS = (20, 40, 80, 160)
"""After so many texts it is checked whether the verdict is certain enough to stop."""
LEVEL = 1 - 0.05 / len(LOOKS)
"""The confidence level of the interval at each check, 98.75 %. With four checks, all four intervals are right together with a
probability of 95 % or more."""
NEEDED: dict[str, dict[str, Any]] = {"E1": {}, "E19": {}}
"""The experiments that a trial runs if the user names none, with their settings: E19 decides the verdict, and the results of
E1 are shown beside it."""
YES_FROM, NO_BELOW = 0.9, 0.5
"""The bounds of the answers, as shares of the texts in which the explanation is right: *yes* from the first on, *no* below the
second, *in part* between them."""
WHILE_READING = {YES: (0.8, 1.0), IN_PART: (0.4, 0.95), NO: (0.0, 0.5)}
"""For each answer, the range in which the whole confidence interval of the share (of texts in which the explanation is right)
must lie, so that reading may stop with this answer before all texts are read."""
AT_THE_END = {YES: (0.75, 1.0), IN_PART: (0.35, 0.97), NO: (0.0, 0.6)}
"""For each answer, a range of shares of texts in which the explanation is right. The share itself says which answer it may be
(``guess_of``). When no more texts can be read, this answer is given if the whole confidence interval of the share lies in its
range, else *cannot tell*."""
DISAGREE = 0.01
"""A p-value (Fisher's exact test). Half of the texts are measured with each of two pools of neutral words; below this p-value,
the shares of right explanations in the two halves count as different. Fixed on 2026-11-27; since 2026-11-28 an answer is still
given if the intervals of both halves lie within its bounds."""


def looks_of(most: int) -> list[int]:
    """Return the numbers of texts after which it is asked whether an answer is known, where ``most`` can be read.

    There are at most four, whatever ``most`` is, so that ``LEVEL`` fits. Each has twice the texts of the one before it.

    >>> looks_of(160), looks_of(100), looks_of(600)
    ([20, 40, 80, 160], [20, 40, 80, 100], [80, 160, 320, 600])
    """
    doubled = [look for times in range(most.bit_length()) if (look := LOOKS[0] << times) < most]
    return [*doubled, most][-len(LOOKS) :]


class Share(NamedTuple):
    """A share of texts with its interval, each in [0, 1], and the number of texts."""

    value: float
    low: float
    high: float
    texts: int


class Verdict(NamedTuple):
    """The verdict on an explanation: in how many of the texts that were read it points at the words that decide."""

    answer: str
    """The answer to the question whether the explanation points at the words that decide, one of ``ANSWERS``: yes, in part,
    no, cannot tell, or not learned."""
    share: Share | None
    """The share of texts in which the explanation is right, with its interval. Only texts count about which the model says
    something else than about neutral words alone; None if there are none. If the two pools of neutral words give different
    shares, the interval spans those of both."""
    random: Share | None
    """The share of texts in which a random order of the words, in place of the explanation, is right; it is compared with
    ``share``. None if it was not measured."""
    read: int
    """The number of texts that experiment E19 has measured, also those in which no words decide."""
    guess: str | None = None
    """If ``answer`` is *cannot tell*: the answer that the share would give without regard to its interval, or None if there is
    no share. None for all other answers."""
    more: int | None = None
    """If too few texts were read for an answer: about how many more would be enough, if the share stays as it is. Only texts
    count in which words decide. None otherwise, and if thousands of texts would not be enough."""
    disagree: bool = False
    """Whether the two pools of neutral words, each used for half of the texts, give shares that differ by more than chance."""
    instead: tuple[str, Share] | None = None
    """Set only for the answers *no* and *in part*: the best other explanation, as its name in columns and its share of texts,
    if its interval lies above that of the tested explanation. None if there is no such explanation."""
    example: int | None = None
    """The id of a text that shows the answer clearly; None if there is none."""
    compared: bool = True
    """Whether other explanations, besides a random order of the words, were tested too. It is only computed for the answers
    *no* and *in part*, and True for all others; for taggers no other explanation is tested."""


def share_of(right: pd.Series) -> Share | None:
    """Return the share of texts with an interval at ``LEVEL``; values are 0 or 1, or means over the labels of a text."""
    values = right.dropna().to_numpy(float)
    if not len(values):
        return None
    low, high = share_interval(values, level=LEVEL)
    return Share(float(values.mean()), *((0.0, 1.0) if math.isnan(low) else (low, high)), len(values))


def guess_of(share: float) -> str:
    """Return the answer that a share of texts stands for."""
    return YES if share >= YES_FROM else NO if share < NO_BELOW else IN_PART


def answer_of(share: Share, within: Mapping[str, tuple[float, float]] = AT_THE_END) -> str:
    """Return the answer that a share stands for, if its interval lies within the bounds of this answer; else *cannot tell*."""
    low, high = within[guess_of(share.value)]
    return guess_of(share.value) if low <= share.low and share.high <= high else CANNOT_TELL


def is_decided(rows: pd.DataFrame) -> bool:
    """Return whether the rows of E19 that were read so far allow an answer, so that no more texts need be read."""
    share = _right(rows) if "right" in rows else None
    if share is None or share.texts < LOOKS[0]:
        return False
    return answer_of(share, WHILE_READING) != CANNOT_TELL


def judged(rows: pd.DataFrame, learned: bool | None) -> Verdict | None:
    """Return the verdict on the explanation that E19 has tested; None if it has read no text.

    Args:
        rows: the table of E19; texts outside its sample are left out.
        learned: whether the model has learned its task; None if nobody knows.
    """
    known = rows[rows["needs_words"].notna()] if "needs_words" in rows else rows[:0]
    if not len(known):
        return None
    texts = by_text(known)
    share, random = _right(known), share_of(texts[f"right_{RANDOM}"]) if f"right_{RANDOM}" in texts else None
    found = Verdict(CANNOT_TELL, share, random, len(texts))
    if learned is False:
        return found._replace(answer=NOT_LEARNED)
    if share is None:
        return found
    disagree, few = _disagree(known), share.texts < LOOKS[0]
    answer = CANNOT_TELL if few else answer_of(share)
    found = found._replace(answer=answer, disagree=disagree, example=_example(known, share))
    if answer == CANNOT_TELL:
        return found._replace(guess=guess_of(share.value), more=None if disagree else _more(share))
    compared = bool({*readings_in(texts)} - {RANDOM})
    return found._replace(instead=_instead(texts, share), compared=compared) if answer in (NO, IN_PART) else found


def readings_in(rows: pd.DataFrame) -> dict[str, Share]:
    """Return the share of texts of each reading that was asked beside the explanation, by its name in columns."""
    texts = by_text(rows)
    found = {name.removeprefix("right_"): share_of(texts[name]) for name in texts if name.startswith("right_")}
    return {name: share for name, share in found.items() if share is not None}


def _right(rows: pd.DataFrame) -> Share | None:
    """Return the share of texts in which the explanation is right, with an interval for pools that disagree, too."""
    share = share_of(by_text(rows)["right"])
    if share is None or not _disagree(rows):
        return share
    pools = [each for _, part in rows.groupby("pool") if (each := share_of(by_text(part)["right"])) is not None]
    return share._replace(low=min(each.low for each in pools), high=max(each.high for each in pools))


def _disagree(rows: pd.DataFrame) -> bool:
    """Return whether the texts of the two pools have different shares of right explanations (Fisher's exact test)."""
    from scipy.stats import fisher_exact  # half a second to import

    right = rows.dropna(subset=["right", "pool"])
    counts = [[int((part == value).sum()) for value in (1, 0)] for _, part in right.groupby("pool")["right"]]
    return len(counts) == 2 and float(fisher_exact(np.array(counts)).pvalue) < DISAGREE


def _more(share: Share) -> int | None:
    """Return how many more texts that need words would decide, if the share stays; None if thousands would not."""
    for texts in range(max(share.texts + 1, LOOKS[0]), 4000):
        right = round(share.value * texts)
        values = np.repeat([1.0, 0.0], [right, texts - right])
        if answer_of(share_of(pd.Series(values)) or share) != CANNOT_TELL:
            return texts - share.texts
    return None


def _instead(texts: pd.DataFrame, share: Share) -> tuple[str, Share] | None:
    others = {name: each for name, each in readings_in(texts).items() if name != RANDOM and each.low > share.high}
    best = max(others, key=lambda name: others[name].value, default=None)
    return None if best is None else (best, others[best])


def _example(rows: pd.DataFrame, share: Share) -> int | None:
    """Return the id of a text in which words decide by much, and whose explanation is as in most texts."""
    usual = rows[rows["right"] == float(share.value >= NO_BELOW)]
    of_number = "moved_with_words" in rows
    ends = ("moved_without_words", "moved_with_words") if of_number else ("with_words", "without_words")
    way = usual[ends[0]] - usual[ends[1]]
    return None if usual.empty else int(usual["id"][way.idxmax()])
