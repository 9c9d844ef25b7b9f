"""Is the model worth asking? Its decisions beside those of a constant answer, read from a run's folder."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from attest.measures import Majority, against_majority
from attest.measures.numbers import p_value, percent
from attest.report.pairing import tagged_tokens
from attest.runs.folder import TAGGED, RunFolder, read_json, read_table
from attest.runs.same_texts import table_of

SCORES = {"accuracy": "accuracy", "f1": "F1", "chunk_f1": "chunk F1", "token_f1": "F1 of tokens", "roc_auc": "ROC-AUC"}
"""What scores are called, by metric."""
UNDEFINED = {
    "f1": "no text is positive, and none is called so",
    "chunk_f1": "no chunk is there or predicted, or the tags are not B-, I- and O",
    "token_f1": "no token has a tag or is given one",
    "roc_auc": "one class only",
}
"""Why scores are undefined."""


@dataclass(frozen=True)
class Baseline:
    """A model beside the constant answer that fits the test labels best."""

    majority: Majority
    answer: str
    """Name of the constant answer."""
    only: str | None
    """Name of the class that the model always predicts; None where it predicts several."""
    instances: int
    """Texts, or sentences of a tagger."""
    tagging: bool

    @property
    def test(self) -> str:
        """The test that was made, with its p-value."""
        name = "Wilcoxon's signed-rank test over sentences" if self.tagging else "McNemar's exact test"
        return f"{name}: {p_value(self.majority.test.p_value)}"


def baseline(run: RunFolder) -> Baseline | None:
    """The baseline of a run's test texts; None where it has kept no table of them, or their labels are not known."""
    path = table_of(run)
    if path is None:
        return None
    tagging = path.stem == TAGGED
    wanted = ["tags", "predicted_tags"] if tagging else ["label", "predicted"]
    columns = pq.read_schema(path).names  # of the other columns the names alone: attention may be many megabytes
    if not tagging and "label" not in columns:
        return None
    rows = read_table(path, wanted)
    names = [column.removeprefix("probability_") for column in columns if column.startswith("probability_")]
    if tagging:
        majority = against_majority(*tagged_tokens(rows))
    else:
        majority = against_majority(rows["label"].to_numpy(), rows["predicted"].to_numpy())
    only = None if majority.only is None else names[majority.only]
    return Baseline(majority, names[majority.label], only, len(rows), tagging)


def scores_line(split: str, numbers: Mapping[str, float | None]) -> str | None:
    """How well a model does on a split, in a line: ``Test:       accuracy 0.8010, F1 0.8000``; None without scores.

    Args:
        split: ``test`` or ``validation``.
        numbers: by key, ``test/accuracy``; others are passed over.
    """
    known = {metric: numbers[f"{split}/{metric}"] for metric in SCORES if f"{split}/{metric}" in numbers}
    scores = ", ".join(f"{SCORES[metric]} {_value(metric, value, '.4f')}" for metric, value in known.items())
    return f"{split.title() + ':':<12}{scores}" if any(value is not None for value in known.values()) else None


def _value(metric: str, value: float | None, style: str) -> str:
    """A score, or why it is undefined: ``undefined: one class only``."""
    if value is None or math.isnan(value):
        return f"undefined: {UNDEFINED.get(metric, 'no instances')}"
    return format(value, style)


def last_words(run: RunFolder) -> list[str]:
    """How well a run does, in a line, and a warning where that is no better than a constant answer."""
    summary, held = read_json(run.summary), baseline(run)
    scores = scores_line("test", summary)
    if scores is None:
        return []
    if held is None:
        return [scores]
    first = f"{scores}; always “{held.answer}” would have accuracy {held.majority.share:.4f}"
    return [first, *(f"Warning:    {each[0].lower()}{each[1:]}" for each in warnings(held))]


def warnings(held: Baseline) -> list[str]:
    """Sentences on a model that is no better than a constant answer; none of any other.

    Args:
        held: the model against its baseline.
    """
    said = [] if held.only is None else [f"The model predicts “{held.only}” every time."]
    if not held.majority.better:
        found = "below" if held.majority.accuracy < held.majority.share else "not shown to be better than"
        said.append(
            f"Its accuracy is {found} that of the constant answer ({held.test}). "
            "What is measured on a model that has not learned its task says little."
        )
    return said


def sentence(held: Baseline | None, summary: dict[str, float]) -> str | None:
    """Whether the model is worth asking, for the report; None of a run that has no accuracy.

    Args:
        held: against its baseline; None where that is not known.
        summary: of the run.
    """
    if summary.get("test/accuracy") is None:
        return None
    if held is None:
        return (
            f"Not known: {percent(summary['test/accuracy'], 1)} are decided rightly, but this folder has no table of the test "
            "texts, so it is not known what a constant answer would reach."
        )
    majority, units = held.majority, "tokens" if held.tagging else "test texts"
    of = f"the tokens of {held.instances:,} test sentences" if held.tagging else f"{held.instances:,} test texts"
    said = (
        f"The model decides {percent(majority.accuracy, 1)} of {of} rightly; always answering “{held.answer}”, the most "
        f"frequent label of these {units}, would be right on {percent(majority.share, 1)} ({held.test})."
    )
    if (chunks := summary.get("test/chunk_f1")) is not None:
        said = f"{said} The F1 of its chunks is {percent(chunks, 1)}."
    only = "" if held.only is None else f" The model predicts “{held.only}” every time."
    if majority.better:
        return f"Yes. {said}{only}"
    roc_auc = summary.get("test/roc_auc")
    area = f" Its ROC-AUC is {_value('roc_auc', roc_auc, '.3f')}." if "test/roc_auc" in summary else ""
    if roc_auc is not None:
        area = f"{area[:-1]}; chance is 0.5."
    return (
        f"Not shown. {said}{only}{area} What is measured below on a model that has not learned its task says little about "
        "attention."
    )
