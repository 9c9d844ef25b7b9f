"""The decision for one of several classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attest.core.kinds.kind import OF_TEXTS, Kind, Scored

if TYPE_CHECKING:
    import pandas as pd


def of_classes(rows: "pd.DataFrame", names: Sequence[str]) -> Scored:
    """Compute the intervals of F1 and ROC-AUC over the texts with a label."""
    import numpy as np

    from attest.core.measures.score_intervals import f1_interval, roc_auc_interval

    rows = rows[rows["label"] >= 0]
    labels, predicted = rows["label"].to_numpy(), rows["predicted"].to_numpy()
    probabilities = rows[[f"probability_{name}" for name in names]].to_numpy()
    classes = np.arange(probabilities.shape[1]) if probabilities.shape[1] > 2 else np.array([1])
    true, said = (each[:, None] == classes for each in (labels, predicted))
    f1 = f1_interval(true & said, true.astype(int) + said)
    return Scored(len(rows), {"f1": f1, "roc_auc": roc_auc_interval(labels, probabilities)})


CLASSES = Kind("classes", of_classes, head=OF_TEXTS, names=2, own=True)
