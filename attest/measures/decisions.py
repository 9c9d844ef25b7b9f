"""How well a model decides, by torchmetrics: the scores that the papers report. Imported only where needed: it is slow."""

from torch import Tensor
from torchmetrics.classification import (
    BinaryAccuracy,
    BinaryAUROC,
    BinaryF1Score,
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassF1Score,
)


def decision_scores(probabilities: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Accuracy, F1 and ROC-AUC.

    Two classes: F1 of the positive class. More: macro averages of F1 and ROC-AUC.

    Args:
        probabilities: float ``(N, K)``, of all instances.
        labels: int64 ``(N,)``.
    Returns:
        ``accuracy``, ``f1``, ``roc_auc`` in [0, 1].
    """
    classes = probabilities.shape[-1]
    if classes == 2:
        metrics = {"accuracy": BinaryAccuracy(), "f1": BinaryF1Score(), "roc_auc": BinaryAUROC()}
        outputs = probabilities[:, 1]
    else:
        metrics = {
            "accuracy": MulticlassAccuracy(classes, average="micro"),
            "f1": MulticlassF1Score(classes, average="macro"),
            "roc_auc": MulticlassAUROC(classes, average="macro"),
        }
        outputs = probabilities
    return {name: metric.to(outputs.device)(outputs, labels) for name, metric in metrics.items()}
