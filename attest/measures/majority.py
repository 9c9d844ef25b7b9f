"""Has a model learned anything? It is compared with the best constant answer."""

from typing import NamedTuple

import numpy as np

from attest.measures.comparison import Paired, mcnemar, signed_rank

LEVEL = 0.05


class Majority(NamedTuple):
    """A model beside the best constant answer, on the same instances."""

    label: int
    """The most frequent label of the instances themselves, the smallest of several."""
    share: float
    """How often that is right."""
    accuracy: float
    """How often the model is right."""
    only: int | None
    """The class that the model always predicts; None where it predicts several."""
    test: Paired
    """The model first, the constant answer second."""

    @property
    def better(self) -> bool:
        """Whether the model is right more often than the constant answer, beyond chance."""
        return self.test.favours > 0 and self.test.p_value < LEVEL


def against_majority(labels: np.ndarray, predicted: np.ndarray, lengths: np.ndarray | None = None) -> Majority:
    """Compare a model with the constant answer that fits these very labels best, which is harder to beat than that of others.

    Args:
        labels, predicted: int ``(N,)``, one or more; of taggers over all tokens, a sentence after the other.
        lengths: int ``(S,)``, of taggers: tokens of each sentence, at least 1. Tokens of a sentence are not independent, so
            sentences are paired, by Wilcoxon's signed-rank test on their accuracy. None: decisions, by McNemar's exact test.
    """
    values, counts = np.unique(labels, return_counts=True)
    label, answers = values[counts.argmax()], np.unique(predicted)
    right, constant = predicted == labels, labels == label
    test = (
        mcnemar(right, constant)
        if lengths is None
        else signed_rank(*(mean_of_each(each, lengths) for each in (right, constant)))
    )
    only = int(answers[0]) if len(answers) == 1 else None
    return Majority(int(label), float(constant.mean()), float(right.mean()), only, test)


def mean_of_each(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Means over stretches of so many values that follow one another, ``(N,)`` -> float64 ``(S,)``."""
    return np.add.reduceat(values.astype(np.float64), lengths.cumsum() - lengths) / lengths
