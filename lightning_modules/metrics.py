"""The test scores that the papers report, by torchmetrics and seqeval."""

from collections.abc import Sequence

from torch import Tensor
from torchmetrics import Metric, MetricCollection
from torchmetrics.classification import (
    BinaryAccuracy,
    BinaryAUROC,
    BinaryF1Score,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassF1Score,
)

from lightning_modules.chunks import ChunkF1, TokenF1
from lightning_modules.predictions import Predicted


def classification_scores(predicted: Predicted) -> dict[str, Tensor]:
    """Accuracy, F1 and ROC-AUC, and the mean loss.

    Two classes: F1 of the positive class. More: macro averages of F1 and ROC-AUC.

    Returns:
        ``accuracy``, ``f1``, ``roc_auc`` in [0, 1] and ``loss``.
    """
    classes = predicted.probabilities.shape[-1]
    if classes == 2:
        metrics = {"accuracy": BinaryAccuracy(), "f1": BinaryF1Score(), "roc_auc": BinaryAUROC()}
        outputs = predicted.probabilities[:, 1]
    else:
        metrics = {
            "accuracy": MulticlassAccuracy(classes, average="micro"),
            "f1": MulticlassF1Score(classes, average="macro"),
            "roc_auc": MulticlassAUROC(classes, average="macro"),
        }
        outputs = predicted.probabilities
    scores = {name: metric.to(outputs.device)(outputs, predicted.labels) for name, metric in metrics.items()}
    return scores | {"loss": predicted.losses.mean().float()}


def tagging_metrics(label_names: Sequence[str], prefix: str) -> MetricCollection:
    """Accuracy over tokens, F1 over tokens and over chunks, to be updated with predicted and gold tags ``(B, T)``."""
    accuracy = MulticlassAccuracy(len(label_names), average="micro", ignore_index=-100)
    metrics: dict[str, Metric | MetricCollection] = {
        "accuracy": accuracy,
        "token_f1": TokenF1(label_names),
        "chunk_f1": ChunkF1(label_names),
    }
    return MetricCollection(metrics, prefix=f"{prefix}/", compute_groups=False)
