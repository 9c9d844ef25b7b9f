"""The scores of decisions that papers report: accuracy, F1 and ROC-AUC."""

import torch
from torch import Tensor
from torchmetrics.functional.classification import (
    binary_auroc,
    binary_f1_score,
    multiclass_accuracy,
    multiclass_f1_score,
)


def decision_scores(probabilities: Tensor, labels: Tensor) -> dict[str, Tensor]:
    """Compute accuracy, F1 and ROC-AUC of a model's decisions from probabilities and labels.

    With two classes, F1 and ROC-AUC are those of the positive class. With more classes, they are macro averages: F1 over the
    classes that occur in the labels or predictions, ROC-AUC (each class against the rest) over the classes that occur in the
    labels.

    Args:
        probabilities: float ``(N, K)``, of all instances.
        labels: int64 ``(N,)``, from 0.
    Returns:
        ``accuracy``, ``f1``, ``roc_auc`` in [0, 1]; NaN where undefined: F1 of two classes if no label and no prediction is
        positive, ROC-AUC if all labels are one class.
    """
    classes = probabilities.shape[-1]
    accuracy = multiclass_accuracy(probabilities, labels, classes, average="micro")
    if classes == 2:
        positive = probabilities[:, 1]
        nothing = not ((positive > 0.5) | (labels == 1)).any()
        f1 = torch.full_like(accuracy, torch.nan) if nothing else binary_f1_score(positive, labels)
    else:
        f1 = multiclass_f1_score(probabilities, labels, classes, average="macro")
    present = labels.unique().tolist()
    told_apart = present if classes > 2 else [1]
    aucs = [binary_auroc(probabilities[:, each], (labels == each).long()) for each in told_apart if len(present) > 1]
    roc_auc = torch.stack(aucs).mean() if aucs else torch.full_like(probabilities.sum(), torch.nan)
    return {"accuracy": accuracy, "f1": f1, "roc_auc": roc_auc}
