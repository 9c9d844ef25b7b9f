"""The test scores that the papers report, by torchmetrics."""

from torchmetrics import MetricCollection
from torchmetrics.classification import (
    BinaryAccuracy,
    BinaryAUROC,
    BinaryF1Score,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassF1Score,
)


def classification_metrics(num_classes: int, prefix: str) -> MetricCollection:
    """Accuracy, F1 and ROC-AUC, to be updated with class probabilities and gold labels.

    Two classes: F1 of the positive class, update with its probability ``(B,)``. More: macro averages, update with ``(B, K)``.
    """
    if num_classes == 2:
        metrics = {"accuracy": BinaryAccuracy(), "f1": BinaryF1Score(), "roc_auc": BinaryAUROC()}
    else:
        metrics = {
            "accuracy": MulticlassAccuracy(num_classes, average="micro"),
            "f1": MulticlassF1Score(num_classes, average="macro"),
            "roc_auc": MulticlassAUROC(num_classes, average="macro"),
        }
    return MetricCollection(metrics, prefix=f"{prefix}/")
