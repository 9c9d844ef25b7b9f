"""Sort the texts of a run into groups, such as short and long ones, between which the share of right explanations differs.

Legend: W words.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from attest.experiments.verdict import Share, share_of
from attest.report.explained import Word, words_of
from attest.runs.folder import GROUPED

GROUP, GROUPINGS = 10, 3
"""The report asks in which groups of texts the explanation is right. The first: how many texts a group must have at least. The
second: how many ways of grouping the texts are shown at most."""
VALUES = 6
"""A column of the user's data with at most this many different values makes each value a group. A numeric column with more
values is split at its median."""


class Group(NamedTuple):
    """Texts of one kind, and in how many of them the explanation is right."""

    name: str
    right: int
    share: Share


class Grouping(NamedTuple):
    """A question that sorts the texts into groups."""

    question: str
    groups: tuple[Group, ...]

    @property
    def apart(self) -> float:
        """Return the largest difference between the shares of two groups."""
        shares = [each.share.value for each in self.groups]
        return max(shares) - min(shares)


def groupings_of(texts: pd.DataFrame, unit: str = "text") -> tuple[list[Grouping], int]:
    """Return the groupings of texts whose shares lie farthest apart, and how many were tried.

    Args:
        texts: as ``texts_with`` returns them.
        unit: what a row is called.
    """
    found = [*_groupings(texts, unit)] if len(texts) else []
    best = sorted((each for each in found if len(each.groups) > 1), key=lambda each: each.apart, reverse=True)
    return best[:GROUPINGS], len(best)


def _groupings(texts: pd.DataFrame, unit: str) -> Iterator[Grouping]:
    right, count = texts["E19/right"], texts["E19/words"]
    sizes = {"one word": count == 1, "two words": count == 2, "three or more": count >= 3}
    yield _grouped("How many words decide?", right, sizes)
    words = [words_of(row) for row in texts.to_dict("records")]
    deciding, first = (
        [_set_of(row, each) for row, each in zip(texts[f"E19/{name}"], words, strict=True)] for name in ("decides", "first")
    )
    if (grouping := _of_a_word("among the words that decide", "Does {} decide?", right, deciding)) is not None:
        yield grouping
    if (grouping := _of_a_word("among its first words", "Does it mark {}?", right, first)) is not None:
        yield grouping
    if texts["said"].nunique() > 1:
        yield _grouped("What does the model say?", right, {name: texts["said"] == name for name in sorted({*texts["said"]})})
    lengths = texts["tokens"].map(len)
    half = int(lengths.median())
    yield _grouped(
        f"How long is the {unit}?", right, {f"up to {half} words": lengths <= half, f"more than {half}": lengths > half}
    )
    probabilities = texts.filter(regex="^probability_").select_dtypes("number")  # those of taggers are lists
    sure = probabilities.max(axis=1)
    if sure.nunique() > 1:
        middle = sure.median()
        groups = {"the less sure half": sure < middle, "the surer half": sure >= middle}
        yield _grouped("How sure is the model?", right, groups)
    for column in texts.filter(regex=f"^{GROUPED}"):
        yield _of_a_column(column.removeprefix(GROUPED), right, texts[column])


def _of_a_column(name: str, right: pd.Series, values: pd.Series) -> Grouping:
    """Return the grouping by a column of the user: its most frequent values, or halves of many different numbers."""
    if is_numeric_dtype(values) and values.nunique() > VALUES:
        middle = values.median()
        halves = {f"{name} up to {middle:g}": values <= middle, f"more than {middle:g}": values > middle}
        return _grouped(f"How large is {name}?", right, halves)
    frequent = [*values.value_counts().index[:VALUES]]
    each = {f"{name}: {value:g}" if is_numeric_dtype(values) else str(value): values == value for value in frequent}
    return _grouped(f"What is {name}?", right, each)


def _set_of(of_tokens: Any, words: Sequence[Word]) -> set[str]:
    return {word.text.lower() for word, marked in zip(words, words_marked(of_tokens, words), strict=True) if marked}


def _of_a_word(where: str, question: str, right: pd.Series, sets: Sequence[set[str]]) -> Grouping | None:
    """Return the grouping by the one word that sets the shares of two groups farthest apart; None without such a word."""
    counts = Counter(word for each in sets for word in each)
    enough = [word for word, times in counts.items() if GROUP <= times <= len(sets) - GROUP]
    found = []
    for word in sorted(enough):
        has = pd.Series([word in each for each in sets], index=right.index)
        groups = {f"“{word}” {where}": has, "others": ~has}
        found.append(_grouped(question.format(f"“{word}”"), right, groups))
    return max(found, key=lambda each: each.apart, default=None)


def _grouped(question: str, right: pd.Series, groups: Mapping[str, pd.Series]) -> Grouping:
    found = []
    for name, chosen in groups.items():
        if int(chosen.sum()) >= GROUP and (share := share_of(right[chosen])) is not None:
            found.append(Group(name, int(right[chosen].sum()), share))
    return Grouping(question, tuple(found))


def words_marked(of_tokens: Any, words: Sequence[Word]) -> np.ndarray:
    """Return for each word of a text whether one of its tokens is marked, bool ``(W,)``; special tokens never are.

    Args:
        of_tokens: a number for each token, above 0 where it is marked.
    """
    values = np.asarray(of_tokens, dtype=float)
    return np.array([not word.special and values[word.places].max() > 0 for word in words])
