"""The 95 % intervals of a run's test scores, from the table of its texts or sentences."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence

from attest.core.kinds import LABELS, NUMBER, SPANS, TAGS
from attest.core.measures.chunks import chunk_counts, of_scheme, token_counts
from attest.core.measures.score_intervals import correlation_interval, f1_interval, rmse_interval, roc_auc_interval
from attest.core.measures.summary import share_interval
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_in

Bounds = dict[str, tuple[float, float]]
"""The ends (low, high) of the 95 % confidence interval of each score; the keys are the keys of the scores, such as
``test/f1``."""


class Scored(NamedTuple):
    """What the scores of a run are over, and their intervals."""

    texts: int
    """The number of texts, or of sentences if the model is a tagger."""
    bounds: Bounds


def score_bounds(run: RunContents) -> Scored | None:
    """Return the intervals of the test scores of a run but accuracy, over its texts; None if it has kept no labels.

    A score without an entry has no interval: it is undefined, or its value on each text is not kept, as for the F1 of answers.
    """
    rows, kind = run.decided, kind_in(run)
    if rows is None or not {kind.label, kind.predicted} <= {*rows}:
        return None
    if kind == TAGS:
        found = _of_tags(*tag_counts(rows, classes_in(run)))
    elif kind == NUMBER:
        rows = rows[[kind.label, kind.predicted]].dropna()
        found = _of_numbers(rows)
    elif kind == LABELS:
        each = rows.assign(both=rows["label"] & rows["predicted"], either=rows["label"] + rows["predicted"])
        of_text = each.groupby("text")[["both", "either"]].sum().to_numpy()
        rows, found = rows.drop_duplicates("text"), {"f1_micro": f1_interval(of_text[:, :1], of_text[:, 1:])}
    elif kind == SPANS:
        found = {"answer_exact_match": share_interval(rows[kind.label].to_numpy(float))}
    else:
        rows, probabilities = rows[rows[kind.label] >= 0], [f"probability_{name}" for name in classes_in(run)]
        found = _of_classes(rows[kind.label].to_numpy(), rows[kind.predicted].to_numpy(), rows[probabilities].to_numpy())
    return Scored(len(rows), {f"test/{name}": ends for name, ends in found.items() if not any(map(math.isnan, ends))})


def classes_in(run: RunContents) -> list[str]:
    """Return the names of the classes, or of the tags, whose probabilities a run has kept, in their order."""
    columns = [] if run.of_texts is None else run.columns(run.of_texts)
    return [name.removeprefix("probability_") for name in columns if name.startswith("probability_")]


def _of_classes(labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray) -> Bounds:
    classes = np.arange(probabilities.shape[1]) if probabilities.shape[1] > 2 else np.array([1])
    true, said = (each[:, None] == classes for each in (labels, predicted))
    f1 = f1_interval(true & said, true.astype(int) + said)
    return {"f1": f1, "roc_auc": roc_auc_interval(labels, probabilities)}


def _of_tags(chunks: torch.Tensor, tokens: torch.Tensor) -> Bounds:
    counts = {"chunk_f1": chunks.numpy(), "token_f1": tokens.numpy()}
    return {name: f1_interval(each[:, :1], each[:, 1:].sum(axis=1, keepdims=True)) for name, each in counts.items()}


def _of_numbers(rows: pd.DataFrame) -> Bounds:
    from scipy.stats import pearsonr, spearmanr  # about a second to import

    label, said, count = rows["label"].to_numpy(float), rows["prediction"].to_numpy(float), len(rows)
    if count < 2 or not np.ptp(label) or not np.ptp(said):
        return {"rmse": rmse_interval(said - label)}
    return {
        "pearson": correlation_interval(float(pearsonr(label, said).statistic), count),
        "spearman": correlation_interval(float(spearmanr(label, said).statistic), count, of_ranks=True),
        "rmse": rmse_interval(said - label),
    }


def tag_counts(rows: pd.DataFrame, names: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Count the correct, predicted and true chunks, and the same of tags, in each of N sentences, int64 ``(N, 3)`` both.

    Args:
        rows: one row for each sentence: ``tags``, ``predicted_tags``.
        names: the tags in the order of their ids.
    """

    def padded(column: str) -> torch.Tensor:
        tags = [torch.from_numpy(np.array(each, dtype=np.int64)) for each in rows[column]]
        return pad_sequence(tags, batch_first=True, padding_value=-1)  # -1 is the gold tag of a token that is no word

    predicted, gold = padded("predicted_tags"), padded("tags")
    return of_scheme(chunk_counts(predicted, gold, names)), token_counts(predicted, gold, names)
