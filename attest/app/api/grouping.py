"""What the user knows of each text, such as its source: the page asks in which groups the explanation is right."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from attest.core.errors import AttestError
from attest.core.label_values import in_order
from attest.runs.folder import GROUPED

Groups = Mapping[str, Sequence[Any]]
"""The user's ways to divide the texts into groups: the key is the name of a way, such as ``source``, and the value has one
string or number for each text."""
HOW = "For example: groups={'source': ['news', 'forum', 'news']}; of a DataFrame, groups=frame[['source']].to_dict('list')"


def groups_of(groups: Groups | None, texts: int, batched: bool) -> dict[str, list[Any]]:
    """Return the groupings that the user gave, by name, with one value for each text.

    Args:
        texts: how many texts were given.
        batched: whether these were given as batches, which name texts by ids of their own.
    Raises:
        AttestError: there is not one value for each text, or there are batches.
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise AttestError(
            f"groups= is a {type(groups).__name__}, so the groups have no name; expected a dictionary with one value for each "
            f"text. {HOW}"
        )
    if not groups:
        return {}
    if batched:
        raise AttestError(
            "groups= was given together with batches, whose texts have ids of their own; expected groups= only for a list or "
            "a table of texts. Leave groups= out."
        )
    found = {}
    for name, given in groups.items():
        values = in_order(given)
        if values is None or any(isinstance(value, list | Mapping) for value in values):
            what = f"a {type(given).__name__}" if values is None else "lists or objects"
            raise AttestError(
                f"groups= has {what} as the values of {name!r}; expected a list with a string or a number for each text, in "
                f"their order. {HOW}"
            )
        found[str(name)] = values
        if len(values) != texts:
            raise AttestError(
                f"groups= has {len(values)} values of {name!r} for {texts} texts; expected one value for each text, in their "
                "order."
            )
    return found


def with_groups(rows: pd.DataFrame, groups: Groups, key: str) -> pd.DataFrame:
    """Return the table of the texts with a column ``group_<name>`` for each grouping.

    A column holds numbers if all its values can be read as numbers, as in a CSV file, else strings.

    Args:
        key: the column with the number of each row's text.
    """
    return rows.assign(
        **{f"{GROUPED}{name}": _column([values[text] for text in rows[key]]) for name, values in groups.items()}
    )


def _column(values: Sequence[Any]) -> pd.Series:
    words = pd.Series([None if pd.isna(value) else str(value) for value in values], dtype=object)
    numbers = pd.to_numeric(words, errors="coerce")
    return numbers if numbers.notna().equals(words.notna()) else words
