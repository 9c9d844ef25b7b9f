"""The scores of decisions that papers report: accuracy, F1 and ROC-AUC.

Each is a metric of torchmetrics that reads the probabilities of all classes, ``(N, K)``, and says NaN where it is undefined.
"""

from typing import Any

import torch
from torch import Tensor
from torchmetrics import MetricCollection
from torchmetrics.classification import (
    BinaryAUROC,
    BinaryF1Score,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassF1Score,
)
from torchmetrics.functional.classification import binary_auroc
from torchmetrics.utilities import dim_zero_cat


class PositiveF1(BinaryF1Score):
    """F1 of the positive class, from probabilities ``(N, 2)``; NaN if no label and no prediction is positive."""

    def update(self, preds: Tensor, target: Tensor) -> None:
        super().update(preds[:, 1], target)

    def compute(self) -> Tensor:
        found = torch.stack([dim_zero_cat(counts) for counts in (self.tp, self.fp, self.fn)]).sum()
        return torch.where(found == 0, torch.nan, super().compute())


class PositiveAUROC(BinaryAUROC):
    """ROC-AUC of the positive class, from probabilities ``(N, 2)``; NaN if all labels are one class."""

    def update(self, preds: Tensor, target: Tensor) -> None:
        super().update(preds[:, 1], target)

    def compute(self) -> Tensor:  # type: ignore[override]  # it inherits from a curve
        return _mean_auroc(dim_zero_cat(self.preds).unsqueeze(-1), dim_zero_cat(self.target), [1])


class PresentAUROC(MulticlassAUROC):
    """ROC-AUC of each class against the rest, mean over the classes that occur; NaN if all labels are one class."""

    def compute(self) -> Tensor:  # type: ignore[override]  # it inherits from a curve
        labels = dim_zero_cat(self.target)
        present = labels.unique()
        return _mean_auroc(dim_zero_cat(self.preds)[:, present], labels, present.tolist())


def _mean_auroc(probabilities: Tensor, labels: Tensor, classes: list[int]) -> Tensor:
    if len(labels.unique()) < 2:
        return torch.full_like(probabilities.sum(), torch.nan)
    each = [binary_auroc(column, (labels == number).long()) for column, number in zip(probabilities.T, classes, strict=True)]
    return torch.stack(each).mean()


def decision_metrics(classes: int, **options: Any) -> MetricCollection:
    """Return ``accuracy``, ``f1`` and ``roc_auc``, metrics that are updated with probabilities and labels.

    With two classes, F1 and ROC-AUC are those of the positive class. With more classes, they are macro averages: F1 over the
    classes that occur in the labels or predictions, ROC-AUC (each class against the rest) over the classes that occur in the
    labels.

    Args:
        classes: K, number of classes.
        options: of each ``torchmetrics.Metric``, such as ``sync_on_compute``.
    Returns:
        Metrics in [0, 1], whose ``update`` takes float ``(N, K)`` and int64 ``(N,)``, from 0; NaN where undefined: F1 of two
        classes if no label and no prediction is positive, ROC-AUC if all labels are one class.
    """
    binary = classes == 2
    return MetricCollection(
        {
            "accuracy": MulticlassAccuracy(classes, average="micro", **options),
            "f1": PositiveF1(**options) if binary else MulticlassF1Score(classes, average="macro", **options),
            "roc_auc": PositiveAUROC(**options) if binary else PresentAUROC(classes, **options),
        },
        compute_groups=False,  # metrics whose first counts happen to be equal would share them from then on
    )


def decision_scores(probabilities: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Compute accuracy, F1 and ROC-AUC of a model's decisions by ``decision_metrics``.

    Args:
        probabilities: float ``(N, K)``, of all instances.
        labels: int64 ``(N,)``, from 0.
    """
    metrics = decision_metrics(probabilities.shape[-1], sync_on_compute=False).to(probabilities.device)
    metrics.update(probabilities, labels)
    return metrics.compute()
