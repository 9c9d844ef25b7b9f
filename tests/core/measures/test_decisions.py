"""Accuracy, F1 and ROC-AUC against scikit-learn; undefined where it says so."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from attest.core.measures.decisions import decision_scores


def drawn(classes: int, present: tuple[int, ...], instances: int = 60):
    generator = torch.Generator().manual_seed(classes)
    probabilities = torch.randn(instances, classes, generator=generator).softmax(dim=-1)
    labels = torch.tensor(present)[torch.randint(0, len(present), (instances,), generator=generator)]
    return probabilities, labels


@pytest.mark.parametrize(("classes", "present"), [(2, (0, 1)), (3, (0, 1, 2)), (3, (0, 2)), (6, (1, 2, 4))])
def test_scores_are_scikit_learns_over_the_classes_that_occur(classes, present):
    probabilities, labels = drawn(classes, present)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = {name: float(score) for name, score in decision_scores(probabilities, labels).items()}
    predicted = probabilities.argmax(dim=-1)
    told_apart = present if classes > 2 else (1,)
    each = [roc_auc_score(labels == number, probabilities[:, number]) for number in told_apart]
    expected = {
        "accuracy": accuracy_score(labels, predicted),
        "f1": f1_score(labels, predicted, average="macro" if classes > 2 else "binary"),
        "roc_auc": np.mean(each),
    }
    assert scores == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("classes", "only"), [(2, 0), (2, 1), (3, 1)])
def test_one_class_has_no_roc_auc(classes, only):
    probabilities, labels = drawn(classes, (only,))
    scores = decision_scores(probabilities, labels)
    assert scores["roc_auc"].isnan()
    assert scores["accuracy"] == (probabilities.argmax(dim=-1) == only).float().mean()
    assert not scores["f1"].isnan()


def test_where_nothing_is_positive_and_nothing_called_so_there_is_no_f1():
    probabilities = torch.tensor([[0.9, 0.1], [0.6, 0.4]])
    assert decision_scores(probabilities, torch.tensor([0, 0]))["f1"].isnan()
    assert decision_scores(probabilities, torch.tensor([0, 1]))["f1"] == 0
    assert decision_scores(probabilities.flip(-1), torch.tensor([0, 0]))["f1"] == 0
