"""Statistical tests of two settings, by decisions on the same instances or by means over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

LEVEL = 0.05
"""The significance level: a difference with a p-value below it counts as more than chance."""


class Paired(NamedTuple):
    """The result of comparing two models, or two columns of numbers, on the same instances."""

    only_first: int
    """The number of instances on which the first model or column is better; for decisions, those that only the first model
    decides rightly."""
    only_second: int
    p_value: float
    """The p-value of a test whose null hypothesis is that both are equally good, in [0, 1]; 1 if they differ on no
    instance."""
    favours: int
    """Which of the two is better: 1 for the first, -1 for the second, 0 for neither; of little meaning if the p-value is
    large."""
    statistic: float = math.nan
    """The test statistic: in McNemar's test, ``only_first``; in Wilcoxon's signed-rank test, the sum of the ranks of the
    instances on which the first is better. NaN if the two differ on no instance."""

    @property
    def differing(self) -> int:
        """Return the number of instances on which the two models, or the two columns, differ."""
        return self.only_first + self.only_second


ALL_SIGNS = 13
"""The largest number N of differing instances, some of them with tied ranks, for which Wilcoxon's signed-rank test gets an
exact p-value from all 2**N signs. For more instances SciPy uses the normal approximation."""
NEVER_DIFFERENT = Paired(0, 0, 1.0, 0, math.nan)


def mcnemar(first: np.ndarray, second: np.ndarray, alternative: str = "two-sided") -> Paired:
    """Compare two models by McNemar's exact test (1947), on the instances that only one of them decides rightly.

    Args:
        first, second: bool ``(N,)``, whether each decides the same instances rightly.
        alternative: ``two-sided``, or the first is ``greater`` or ``less``.
    """
    from scipy.stats import binomtest  # about a second to import

    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    if not only_first + only_second:
        return NEVER_DIFFERENT
    p_value = float(binomtest(only_first, only_first + only_second, alternative=alternative).pvalue)
    return Paired(only_first, only_second, p_value, int(np.sign(only_first - only_second)), only_first)


def signed_rank(first: np.ndarray, second: np.ndarray, alternative: str = "two-sided") -> Paired:
    """Compare paired numbers by Wilcoxon's signed-rank test (1945); instances with equal numbers are left out.

    Args:
        first, second: float ``(N,)``, of the same instances; more is better.
        alternative: ``two-sided``, or the first is ``greater`` or ``less``.
    """
    from scipy.stats import permutation_test, rankdata, wilcoxon  # about a second to import

    difference = (first - second).round(12)  # 0.3 - 0.15 and 0.15 are one rank
    difference = difference[difference != 0]
    if not len(difference):
        return NEVER_DIFFERENT
    only_first = int((difference > 0).sum())
    ranks = rankdata(np.abs(difference))
    if len(ranks) <= ALL_SIGNS and len(np.unique(ranks)) < len(ranks):
        # wilcoxon tries all signs, too, but calls a function for each of the 2**N
        tested = permutation_test(
            (difference,),
            lambda signed, axis: np.where(signed > 0, ranks, 0).sum(axis),
            permutation_type="samples",
            vectorized=True,
            alternative=alternative,
        )
    else:
        tested = wilcoxon(difference, alternative=alternative)
    favours = int(np.sign(ranks @ np.sign(difference)))
    return Paired(only_first, len(difference) - only_first, float(tested.pvalue), favours, float(ranks[difference > 0].sum()))


@dataclass(frozen=True)
class OverSeeds:
    """The mean and the standard deviation of a number over the seeds of one setting.

    Args:
        mean: NaN if there are no seeds.
        std: computed with the divisor n - 1; NaN for fewer than two seeds.
        seeds: the number of seeds.
    """

    mean: float
    std: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "OverSeeds":
        """Return the mean and the standard deviation of the given numbers, one number for each seed."""
        mean = float(np.mean(values)) if len(values) else math.nan
        return cls(mean, float(np.std(values, ddof=1)) if len(values) > 1 else math.nan, len(values))

    def __neg__(self) -> "OverSeeds":
        return OverSeeds(-self.mean, self.std, self.seeds)

    def interval(self, errors: float) -> tuple[float, float]:
        """Return the two ends of the interval mean ± ``errors`` × standard error; NaN for fewer than two seeds."""
        margin = errors * self.std / math.sqrt(self.seeds) if self.seeds else math.nan
        return self.mean - margin, self.mean + margin


@cache
def standard_errors(freedom: float, level: float = 0.95, compared: int = 2) -> float:
    """Return how many standard errors a mean's confidence interval extends to each side, by Student's t.

    If more than two means are compared, the intervals are wider, by the studentised range (Gabriel 1978; Hochberg, Weiss &
    Hart 1982).

    Args:
        freedom: degrees of freedom of the standard error.
        level: of confidence.
        compared: how many means are compared with one another.
    """
    student = float(special.stdtrit(freedom, (1 + level) / 2))
    if compared <= 2:
        return student
    from scipy.stats import studentized_range  # about a second to import

    return max(student, float(studentized_range.ppf(level, compared, freedom)) / 2)


def in_seed_spreads(first: OverSeeds, second: OverSeeds) -> float:
    r"""Compute the distance of two means in standard deviations, :math:`(\bar a - \bar b) / \sqrt{(s_a^2 + s_b^2) / 2}`.

    NaN if a setting has fewer than two seeds, or if all numbers of each setting are equal.
    """
    spread = math.sqrt((first.std**2 + second.std**2) / 2)
    return (first.mean - second.mean) / spread if spread > 0 else math.nan


class Majority(NamedTuple):
    """The result of comparing a model with the best constant answer, on the same instances."""

    label: int
    """The most frequent label of the instances, which is the constant answer; the smallest if several are equally frequent."""
    share: float
    """The accuracy of the constant answer ``label``, in [0, 1]."""
    accuracy: float
    """The accuracy of the model, in [0, 1]."""
    only: int | None
    """The class that the model predicts for every instance; None if it predicts several classes."""
    test: Paired
    """The test that compares the decisions of the model (first) with the constant answer ``label`` (second)."""

    @property
    def better(self) -> bool:
        """Return whether the model is right significantly more often than the constant answer."""
        return self.test.favours > 0 and self.test.p_value < LEVEL


def against_majority(labels: np.ndarray, predicted: np.ndarray, lengths: np.ndarray | None = None) -> Majority:
    """Compare a model with the constant answer that is right most often, on the same instances.

    Args:
        labels, predicted: int ``(N,)``, N at least 1; for taggers, those of all tokens, one sentence after the other.
        lengths: int ``(S,)``, for taggers: the number of tokens of each sentence, at least 1. Tokens of a sentence are not
            independent, so Wilcoxon's signed-rank test compares the accuracy on each sentence. If None, McNemar's exact test
            compares single decisions.
    """
    values, counts = np.unique(labels, return_counts=True)
    label, answers = values[counts.argmax()], np.unique(predicted)
    right, constant = predicted == labels, labels == label
    if lengths is None:
        test = mcnemar(right, constant)
    else:
        test = signed_rank(mean_of_each(right, lengths), mean_of_each(constant, lengths))
    only = int(answers[0]) if len(answers) == 1 else None
    return Majority(int(label), float(constant.mean()), float(right.mean()), only, test)


class Learned(NamedTuple):
    """Whether a classifier tells the classes apart, whatever their shares are."""

    balanced: float
    """The balanced accuracy, in [0, 1]: for each class, the share of its texts that is decided rightly; then the mean over the
    classes."""
    chance: float
    """The balanced accuracy of a model that knows nothing: one over the number of classes."""
    p_value: float
    """The p-value of a one-sided Mann-Whitney test. Its null hypothesis: the model gives a class no larger probability in
    texts of this class than in other texts. With more than two classes, the smallest p-value times the number of classes, at
    most 1."""

    @property
    def little(self) -> bool:
        """Return whether balanced accuracy is nearer to chance than to 1."""
        return self.balanced < (1 + self.chance) / 2


def classes_apart(labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray) -> Learned | None:
    """Ask whether a classifier tells the classes apart better than chance; None if all texts have the same label.

    For each class, the Mann-Whitney test (1947) compares the probabilities of this class, which the texts of the class get,
    with those of the other texts: it asks whether the area under the ROC curve is above a half. With more than two classes
    the smallest p-value is multiplied by their number (Bonferroni).

    Args:
        labels, predicted: int ``(N,)``; texts with a label below 0 are left out.
        probabilities: ``(N, K)``.
    """
    from scipy.stats import mannwhitneyu  # about a second to import

    known = labels >= 0
    labels, predicted, probabilities = labels[known], predicted[known], probabilities[known]
    classes = np.unique(labels)
    if len(classes) < 2:
        return None
    recalls = [(predicted[labels == each] == each).mean() for each in classes]
    p_values = [
        mannwhitneyu(probabilities[labels == each, each], probabilities[labels != each, each], alternative="greater").pvalue
        for each in (classes if len(classes) > 2 else classes[:1])
    ]
    return Learned(float(np.mean(recalls)), 1 / len(classes), min(1.0, len(p_values) * float(min(p_values))))


def mean_of_each(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Compute the mean of each of S consecutive groups: ``values (N,)``, group sizes ``lengths (S,)`` -> float64 ``(S,)``."""
    return np.add.reduceat(values.astype(np.float64), lengths.cumsum() - lengths) / lengths
