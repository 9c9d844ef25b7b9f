"""Errors about bad rows: how many, why, where, what was expected, and what may help."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attest.datamodules.encodings import encoding_advice
from attest.datamodules.notice import option, shortened, some
from attest.datamodules.rows import UNDECODED
from attest.errors import AttestError

BY_PROBLEM = {
    "no JSON": "A .jsonl file holds one JSON object a line; `jq -c '.[]' <file>` makes that of one large array, "
    "`jq -c . <file>` of objects over several lines. ",
    "a list where a label": "Texts with several labels are not read: make one column of each label, and name one. ",
    "cells instead of": "The first line must name the columns, and a cell that holds the separator needs quotation marks. ",
}
"""What may help where many rows have a problem, by words of its name."""


class Judged(Protocol):
    """Anything that has a place and may have a problem: a row, or the instance in it."""

    @property
    def place(self) -> str: ...

    @property
    def problem(self) -> str | None: ...


def useless(rows: Sequence[Judged]) -> bool:
    """Whether none of the rows is good."""
    return all(row.problem is not None for row in rows)


def complaint(source: str, rows: Sequence[Judged]) -> str:
    """How many rows of a file are bad, why and where, in a sentence."""
    places: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.problem is not None:
            places[row.problem].append(row.place)
    bad = sum(map(len, places.values()))
    reasons = [f"{problem} ({some(found)})" for problem, found in places.items()]
    return f"{source} has {bad} bad {'row' if bad == 1 else 'rows'} of {len(rows)}: {some(reasons, '; ')}."


def refusal(bad: Mapping[str, Sequence[Judged]], encoding: str, known: Sequence[str] = ()) -> AttestError:
    """The error for files with bad rows.

    Args:
        bad: rows by file, good and bad.
        encoding: of the files.
        known: the classes, once they are.
    """
    complaints = " ".join(complaint(source, rows) for source, rows in bad.items())
    label = f"known label ({some([*map(shortened, known)])})" if known else "known label"
    skip = "" if any(map(useless, bad.values())) else f", or leave them out with {option('on_bad_rows', 'skip')}"
    hints = "".join(dict.fromkeys(hint for source, rows in bad.items() for hint in _hints(source, rows, encoding)))
    return AttestError(f"{complaints} Expected a text and a {label} in every row. {hints}Correct the rows{skip}")


def _hints(source: str, rows: Sequence[Judged], encoding: str) -> list[str]:
    problems = {row.problem for row in rows if row.problem is not None}
    hints = [hint for words, hint in BY_PROBLEM.items() if any(words in problem for problem in problems)]
    if UNDECODED.format(encoding.upper()) in problems:
        hints.append(f"{encoding_advice(Path(source).expanduser(), encoding)} ")
    return hints
