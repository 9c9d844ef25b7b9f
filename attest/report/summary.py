"""The numbers of a run: how they are computed for ``summary.json``, and how scores and measures of all experiments are named
and described. ``summary.json`` is a flat file with a version; tables about many runs are made from such files.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from attest.core.measures import summarise
from attest.experiments.registry import EXPERIMENTS, measures
from attest.experiments.spec import Column
from attest.runs.folder import INSTANCES, RunFolder, read_json

VERSION = 2
"""The version of the format of ``summary.json``; it increases when a key is removed or changes its meaning."""
SCHEMA = Path(__file__).with_name("summary.schema.json")
"""The path of the JSON schema of ``summary.json``."""


def summarise_run(
    folder: RunFolder, expected_tables: Iterable[str], scores: dict[str, float], monitor: str, mode: str
) -> dict[str, Any]:
    """Return all numbers of a run for ``summary.json``.

    Args:
        monitor, mode: the validation score that chose the best epoch, and whether the best is its ``max`` or its ``min``.
    Returns:
        ``version``, ``test/…``, ``best/epoch`` and its ``best/validation/…`` if an epoch was validated, and
        ``<id>/<column>/<statistic>``.
    """
    validated = [epoch for epoch in read_json(folder.curves) if epoch.get(monitor) is not None]
    summary: dict[str, Any] = {"version": VERSION} | scores
    if validated:
        best = (max if mode == "max" else min)(validated, key=lambda epoch: epoch[monitor])
        summary |= {"best/epoch": best["epoch"]}
        summary |= {f"best/{name}": value for name, value in best.items() if name.startswith("validation/")}
    return summary | summarise_tables(folder, {*expected_tables} - {INSTANCES})


def summarise_tables(folder: RunFolder, tables: Iterable[str]) -> dict[str, float]:
    """Return statistics of the columns of the named tables, by ``<id>/<column>/<statistic>``."""
    summary: dict[str, float] = {}
    stopped = folder.stopped_evidence()
    for experiment in sorted(tables):
        rows = pd.read_parquet(folder.evidence(experiment))
        summary |= {f"{experiment}/{key}": value for key, value in summarise(rows).items()}
        summary |= stopped[experiment].summary if experiment in stopped else {}
    return summary


SCORES = {
    "test/accuracy": Column.share(
        "accuracy",
        "Share of the test texts (for a tagger: of their words) for which the model predicts the correct label.",
        title="Accuracy",
        misread="Accuracy says how well the model decides, not why it decides so.",
    ),
    "test/f1": Column.share(
        "f1",
        "Harmonic mean of precision and recall of the positive class; with more than two classes, the mean over the "
        "classes that occur.",
        title="F1",
    ),
    "test/chunk_f1": Column.share(
        "chunk_f1",
        "Harmonic mean of precision and recall of whole chunks; a chunk is right if its first word, its last word and "
        "its kind are right. In the scheme IOB2 a chunk begins with B-; in other schemes, chunks are found by the rules"
        " of CoNLL's script.",
        title="F1 of chunks",
        misread="A chunk with one wrong tag counts as missed, however many of its words are tagged rightly.",
    ),
    "test/f1_micro": Column.share(
        "f1_micro",
        "Harmonic mean of precision and recall over all decisions; the model makes one decision for each label of each text.",
        title="F1 over all labels",
        misread="Rare labels hardly change the F1 over all labels; `f1_macro` in summary.json is the mean of the F1 of every "
        "label.",
    ),
    "test/exact_match": Column.share(
        "exact_match",
        "Share of texts for which the model predicts all correct labels and no other label.",
        title="Texts wholly right",
    ),
    "test/answer_exact_match": Column.share(
        "answer_exact_match",
        "Share of questions that the model answers correctly, if case, articles and punctuation are ignored (SQuAD's "
        "exact match).",
        title="Answers that match",
    ),
    "test/answer_f1": Column.share(
        "answer_f1",
        "F1 of the words of the model's answers (harmonic mean of precision and recall, as in SQuAD), as a mean over "
        "questions.",
        title="F1 of answers",
    ),
    "test/pearson": Column.correlation(
        "pearson",
        "Correlation between the predicted numbers and the labels, from -1 to 1.",
        title="Pearson's correlation",
        misread="A model whose predictions are all too high can still have a correlation of 1 with the labels.",
    ),
    "test/spearman": Column.correlation(
        "spearman",
        "Rank correlation between the predicted numbers and the labels: does the model put the texts in the right order?",
        title="Spearman's correlation",
    ),
    "test/rmse": Column.at_least_0(
        "rmse",
        "Root of the mean squared difference between the model's predictions and the labels, in the unit of the labels.",
        title="RMSE",
        misread="Compare the RMSE with `rmse_of_mean` in summary.json, which is the RMSE of a model that always returns the "
        "mean label. Rerankers often return numbers on another scale than the labels: then only the correlations are "
        "meaningful.",
    ),
    "test/roc_auc": Column.share(
        "roc_auc",
        "Probability that a positive text gets a higher score than a negative text; with more than two classes, the "
        "mean over the classes that occur.",
        title="ROC-AUC",
    ),
}
QUESTIONS = {"test": "Is the model worth asking?"} | {spec.id: spec.question for spec in EXPERIMENTS.values()}
"""The question that each experiment asks, by the experiment's id, in the order of the report. Experiments without an entry
here are listed last."""
DESCRIBED = SCORES | measures()
"""The description (title, range and so on) of each score and each measure, by its key, in the order of the report."""
LABELS = {key: each.title if key in SCORES else f"{key.split('/')[0]} {each.title}" for key, each in DESCRIBED.items()}
"""The full name of each number as reports write it, such as ``E2 decisions flipped``, by its key, in the order of the
report."""


def range_of(key: str) -> tuple[float, float]:
    """Return the smallest and the largest possible value of a score or a measure, by its key; infinities if unknown."""
    experiment, _, name = key.partition("/")
    known = EXPERIMENTS[experiment].column(name) if experiment in EXPERIMENTS else SCORES.get(key)
    return (-math.inf, math.inf) if known is None or known.range is None else known.range


def label_of(key: str) -> str:
    """Return the name of a number for the report, by its key in ``summary.json``; the key if it has no name."""
    return LABELS.get(key, key)
