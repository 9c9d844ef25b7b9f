"""The 95 % intervals of a run's test scores, from the table of its texts or sentences."""

import math

from attest.core.kinds import Scored
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_in


def score_bounds(run: RunContents) -> Scored | None:
    """Return the intervals of the test scores of a run but accuracy, over its texts; None if it has kept no labels.

    A score without an entry has no interval: it is undefined, or its value on each text is not kept, as for the F1 of answers.
    """
    rows, kind = run.decided, kind_in(run)
    if rows is None or not {kind.label, kind.predicted} <= {*rows}:
        return None
    texts, found = kind.bounds(rows, classes_in(run))
    return Scored(texts, {f"test/{name}": ends for name, ends in found.items() if not any(map(math.isnan, ends))})


def classes_in(run: RunContents) -> list[str]:
    """Return the names of the classes, or of the tags, whose probabilities a run has kept, in their order."""
    columns = [] if run.of_texts is None else run.columns(run.of_texts)
    return [name.removeprefix("probability_") for name in columns if name.startswith("probability_")]
