"""What ``attest test`` and ``attest validate`` print: the scores in a line, then the means of the evidence by question."""

import re
from collections.abc import Iterator, Mapping

from attest.measures.numbers import rounded
from attest.report.baseline import SCORES, scores_line
from attest.report.described import QUESTIONS, described

EVIDENCE = re.compile(r"(?P<experiment>\w+)/(?:validation|test)/(?P<column>.+)/mean")
COLUMNS = "Other names are columns of evidence tables; “What a run leaves in numbers” in the documentation describes them."
GAP = "  "


def scored(split: str, numbers: Mapping[str, float]) -> Iterator[str]:
    """Lines for a terminal; a number without a description keeps its key or column, which the reference describes.

    Args:
        split: ``test`` or ``validation``.
        numbers: by key as they are logged, ``test/accuracy`` or ``E1/validation/tau_gradient_inputs/mean``.
    """
    if line := scores_line(split, numbers):
        yield line
    of_evidence = {key: match for key in numbers if (match := EVIDENCE.fullmatch(key))}
    told = {f"{split}/{metric}" for metric in SCORES} | of_evidence.keys()
    others = {key.removeprefix(f"{split}/"): value for key, value in sorted(numbers.items()) if key not in told}
    if others:
        yield f"{'Also:':<12}{', '.join(f'{name} {value:.4f}' for name, value in others.items())}"
    if of_evidence:
        yield from _evidence({(match["experiment"], match["column"]): numbers[key] for key, match in of_evidence.items()})
        yield COLUMNS


def _evidence(means: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """A line a question, in the order of the report, and below it one a mean; measures of the verdict come first."""
    order = [*(tuple(key.split("/")) for key in described()), *sorted(means)]
    asked = dict.fromkeys([*QUESTIONS, *(experiment for experiment, _ in sorted(means))])
    for experiment in asked:
        columns = dict.fromkeys(column for name, column in order if name == experiment and (name, column) in means)
        if columns:
            yield f"{experiment}{GAP}{QUESTIONS.get(experiment, '')}".rstrip()
        for column in columns:
            measure = described().get(f"{experiment}/{column}")
            yield f"{GAP}{measure.title if measure else column:<60} {rounded(means[experiment, column])}"
