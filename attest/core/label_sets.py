"""Which labels each text has, where a text can have several: lists of labels, rows of 0 and 1, or a column for each label.

Legend: N texts, L labels.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from attest.core.errors import AttestError
from attest.core.label_values import TRUTH, listed, several_of
from attest.core.labels import by_name, columns_named, whole

HOW = "Give each text a list of its label names or numbers, or give a table of 0 and 1 with one column for each label."


def label_sets(labels: Any, texts: int, names: Sequence[str]) -> np.ndarray:
    """Return which of L labels each of N texts has, bool ``(N, L)``.

    Args:
        labels: for each text what ``several_of`` reads, or L values of 0 and 1; or a DataFrame with a column for each label.
        names: the names of the L labels, in the order of the model.
    Example:
        >>> label_sets(["['fear']", "joy, fear"], 2, ["joy", "fear"]).tolist()
        [[False, True], [True, True]]
    """
    if isinstance(labels, pd.DataFrame):
        labels = labels[columns_named(names, [*labels.columns]) or _refuse_columns(labels, names)].to_numpy()
    given = listed(labels)
    if not isinstance(given, list) or len(given) != texts:
        count = f"{len(given)} of them" if isinstance(given, list) else f"a {type(given).__name__}"
        raise AttestError(
            f"for this model a text can have several labels, and labels= contains {count} for {texts} texts; expected a list "
            f"of labels for each text. {HOW}"
        )
    rows = []
    for place, cell in enumerate(given):
        try:
            rows.append(several_of(cell, names))
        except ValueError as bad:
            raise AttestError(f"text {place} has {bad}; expected a list of labels for each text. {HOW}") from None
        if None in rows[-1]:
            raise AttestError(f"text {place} has an empty label; expected a list of labels for each text. {HOW}")
    whether = [[_present(each) for each in row] for row in rows]
    single = [isinstance(cell, str | bytes) or not isinstance(cell, Iterable) for cell in given]
    if all(len(row) == len(names) and None not in row for row in whether) and _is_table(whether, single):
        return np.array(whether, dtype=bool).reshape(texts, len(names))
    if any(len({*row}) < len(row) for row in whether) and all(None not in row for row in whether):
        raise AttestError(
            "some texts have lists of 0 and 1 in which a value occurs twice, as a table of labels has it, but not one value "
            f"for each of the {len(names)} labels of the model; expected 0 or 1 for each label. {HOW}"
        )
    if all(single) and all(len(row) == 1 and None not in row for row in whether) and not {*map(_only, rows)} <= {*names}:
        raise AttestError(
            "each text has one label, and all labels are 0 or 1, which has two meanings: the number of a label, or whether "
            f"the text has some label; expected labels with one meaning. {HOW}"
        )
    every = {str(each) for row in rows for each in row}
    known = by_name(every, names, HOW, truths=False) if every else {}
    found = np.zeros((texts, len(names)), dtype=bool)
    for place, row in enumerate(rows):
        found[place, [known[str(each)] for each in row]] = True
    return found


def _present(value: Any) -> int | None:
    number = TRUTH.get(str(value).casefold(), whole(str(value)))
    return number if number in (0, 1) else None


def _is_table(whether: Sequence[Sequence[int | None]], single: Sequence[bool]) -> bool:
    """Return whether rows of 0 and 1 say which labels a text has; of one label, lists of 0 could also be its number."""
    if len(whether[0]) > 1 or all(single) or any(row[0] for row in whether):
        return True
    raise AttestError(
        "every text has the label 0, which has two meanings for the only label of the model: its number, or that a text does "
        "not have it; expected labels with one meaning. Give the name of the label, or [] for a text without it."
    )


def _only(row: Sequence[Any]) -> str:
    return str(row[0])


def _refuse_columns(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    raise AttestError(
        f"the labels are a DataFrame with the columns {', '.join(map(str, table.columns))}; expected a column for each label "
        f"of the model: {', '.join(names)}."
    )
