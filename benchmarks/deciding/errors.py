"""Write how often an answer of the verdict is wrong into the package, from the table of trained networks.

    python -m benchmarks.deciding.errors

Reads docs/results/deciding/trained.csv; terminals and model cards quote the counts.
"""

import pandas as pd
import yaml

from attest.core.measures.summary import share_interval
from attest.experiments.verdict_errors import SHIPPED, AnswerError
from attest.runs.folder import write_json
from benchmarks.deciding.looks import NO, YES
from benchmarks.deciding.page import STATED, TABLES, TRUTHS, judged_of

OPPOSITE = {YES: NO, NO: YES}


def errors(rows: pd.DataFrame) -> dict[str, AnswerError]:
    """Return the errors of each answer; ``rows`` has a network a row, as ``trained.csv``."""
    _, judged = judged_of(rows, yaml.safe_load(STATED.read_text(encoding="utf-8")))
    found = {}
    for answer in TRUTHS:
        part = judged[judged.answer == answer]
        wrong = (part.true != answer).to_numpy(float)
        low, high = share_interval(wrong, part.mechanism.to_numpy()) if len(wrong) else (0.0, 1.0)
        opposite = int((part.true == OPPOSITE.get(answer)).sum())
        found[answer] = AnswerError(int(wrong.sum()), opposite, len(part), round(low, 4), round(high, 4))
    return found


def measured() -> dict[str, dict[str, dict[str, float]]]:
    """Return the content of the shipped file: by the explanation that the networks were asked about, and by answer."""
    rows = pd.read_csv(TABLES / "trained.csv")
    inside = rows.kind.str.contains("transformer|decoder")
    asked = {"all": rows, "attention": rows[~inside], "rollout": rows[inside]}
    return {name: {answer: each._asdict() for answer, each in errors(part).items()} for name, part in asked.items()}


if __name__ == "__main__":
    write_json(SHIPPED, measured(), in_order=True)
