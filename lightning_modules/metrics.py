"""The test scores that the papers report, by torchmetrics and seqeval."""

from collections.abc import Sequence

from torchmetrics import MetricCollection
from torchmetrics.classification import (
    BinaryAccuracy,
    BinaryAUROC,
    BinaryF1Score,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassF1Score,
)

from lightning_modules.chunks import ChunkF1, TokenF1


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


def tagging_metrics(label_names: Sequence[str], prefix: str) -> MetricCollection:
    """Accuracy over tokens, F1 over tokens and over chunks, to be updated with predicted and gold tags ``(B, T)``."""
    accuracy = MulticlassAccuracy(len(label_names), average="micro", ignore_index=-100)
    metrics = {"accuracy": accuracy, "token_f1": TokenF1(label_names), "chunk_f1": ChunkF1(label_names)}
    return MetricCollection(metrics, prefix=f"{prefix}/", compute_groups=False)
