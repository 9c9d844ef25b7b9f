"""The 95 % intervals over texts of test scores that are no means of texts: F1, ROC-AUC, correlations and RMSE.

Legend: N texts or sentences, K classes.
"""

import math

import numpy as np
import pandas as pd
from scipy import special

from attest.core.measures.summary import share_interval, summarise


def f1_interval(matching: np.ndarray, counted: np.ndarray) -> tuple[float, float]:
    """Compute the interval of F1: the share of the predicted and of the true items that match; with classes, their mean.

    The items of a text may be alike, so that they count together (Liang & Zeger 1986).

    Args:
        matching: how many items of each text and class are predicted and true, ``(N, K)``.
        counted: how many are predicted plus how many are true, ``(N, K)``; classes and texts without any are left out.
    Returns:
        Both ends, in [0, 1]; NaN if they are undefined, as with a single text.
    """
    there = counted.any(axis=0)
    texts = counted.any(axis=1)
    matching, counted = matching[texts][:, there].astype(float), counted[texts][:, there].astype(float)
    if not counted.size:
        return math.nan, math.nan
    of_class = 2 * matching.sum(axis=0) / counted.sum(axis=0)
    away = (2 * matching - of_class * counted) / counted.mean(axis=0)
    return _of_score(of_class.mean() + away.mean(axis=1), int((counted > 0).sum(axis=0).min()))


def roc_auc_interval(labels: np.ndarray, probabilities: np.ndarray) -> tuple[float, float]:
    """Compute the interval of ROC-AUC by the components of DeLong, DeLong & Clarke-Pearson (1988).

    With more than two classes it is that of the mean over the classes that occur, each against the rest.

    Args:
        labels: int ``(N,)``.
        probabilities: ``(N, K)``.
    Returns:
        Both ends, in [0, 1]; NaN if all labels are the same.
    """
    present = np.unique(labels)
    if len(present) < 2:
        return math.nan, math.nan
    told_apart = present if probabilities.shape[1] > 2 else [1]
    parts = [_auc_of_each(labels == each, probabilities[:, each]) for each in told_apart]
    return _of_score(np.mean(parts, axis=0), min(int((labels == each).sum()) for each in present))


def _auc_of_each(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return one number for each text; their mean is ROC-AUC, and their spread is its spread over texts."""
    from scipy.stats import rankdata  # about a second to import

    ranks, own = rankdata(scores), np.empty(len(scores))
    count = int(positive.sum())
    own[positive] = (ranks[positive] - rankdata(scores[positive])) / (len(scores) - count)
    own[~positive] = 1 - (ranks[~positive] - rankdata(scores[~positive])) / count
    area = own[positive].mean()
    weight = len(scores) / np.where(positive, count, len(scores) - count)
    return np.asarray(area + weight * (own - area))


def _of_score(values: np.ndarray, fewest: int) -> tuple[float, float]:
    """Return the interval of a mean in [0, 1]; if it is 0 or 1, of as many texts as the rarest class has."""
    mean = float(values.mean())
    return share_interval(values if 0 < mean < 1 else np.full(fewest, mean))


def correlation_interval(r: float, count: int, of_ranks: bool = False) -> tuple[float, float]:
    """Compute the interval of a correlation over ``count`` texts by Fisher's z; of ranks as Bonett & Wright (2000) do.

    Returns:
        Both ends, in [-1, 1]; NaN for fewer than four texts.
    """
    if count < 4 or math.isnan(r):
        return math.nan, math.nan
    if abs(r) >= 1:
        return r, r
    margin = special.ndtri(0.975) * math.sqrt((1 + r**2 / 2 if of_ranks else 1) / (count - 3))
    return math.tanh(math.atanh(r) - margin), math.tanh(math.atanh(r) + margin)


def rmse_interval(errors: np.ndarray) -> tuple[float, float]:
    """Compute the interval of a root mean squared error from the errors ``(N,)``; NaN for a single text."""
    squared = summarise(pd.DataFrame({"squared": errors**2}), by=None)
    low, high = (np.sqrt(np.maximum(squared[f"squared/{end}"], 0)) for end in ("ci_low", "ci_high"))
    return float(low), float(high)
