"""The answer to a question, as a span of a passage."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attest.core.kinds.kind import Kind, Scored, share_told

if TYPE_CHECKING:
    import pandas as pd


def of_spans(rows: "pd.DataFrame", _names: Sequence[str]) -> Scored:
    """Compute the interval of the share of answers that match a right one."""
    from attest.core.measures.summary import share_interval

    return Scored(len(rows), {"answer_exact_match": share_interval(rows["label"].to_numpy(float))})


def told(summary: Mapping[str, float], found: Scored | None) -> str:
    """Say how many answers match."""
    from attest.core.measures.numbers import percent

    answers = "its answers" if found is None else f"its answers to {found.texts:,} question{'s' if found.texts > 1 else ''}"
    return (
        f"The model answers questions by a span of their passages: {share_told('test/answer_exact_match', summary, found)} of "
        f"{answers} match a right one, and the F1 of their words is {percent(summary['test/answer_f1'], 1)}, as a mean "
        "over questions; it has no interval, since the F1 of single answers is not kept. No constant answer is held "
        "against it."
    )


SPANS = Kind(
    "spans",
    of_spans,
    told,
    score="answer_exact_match",
    constant=False,
    head="ForQuestionAnswering",
    loaded_as="answers",
    beside=("roles",),
    named=False,
)
