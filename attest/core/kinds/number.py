"""One number for a text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attest.core.kinds.kind import OF_TEXTS, Kind, Scored, number_told

if TYPE_CHECKING:
    import pandas as pd


def of_numbers(rows: "pd.DataFrame", _names: Sequence[str]) -> Scored:
    """Compute the intervals of both correlations and of the root mean squared error, over the texts with a label."""
    import numpy as np
    from scipy.stats import pearsonr, spearmanr

    from attest.core.measures.score_intervals import correlation_interval, rmse_interval

    rows = rows[["label", "prediction"]].dropna()
    label, said, count = rows["label"].to_numpy(float), rows["prediction"].to_numpy(float), len(rows)
    if count < 2 or not np.ptp(label) or not np.ptp(said):
        return Scored(count, {"rmse": rmse_interval(said - label)})
    bounds = {
        "pearson": correlation_interval(float(pearsonr(label, said).statistic), count),
        "spearman": correlation_interval(float(spearmanr(label, said).statistic), count, of_ranks=True),
        "rmse": rmse_interval(said - label),
    }
    return Scored(count, bounds)


def told(summary: Mapping[str, float], found: Scored | None) -> str:
    """Say how near the numbers are to the labels, beside always returning the mean label."""
    from attest.core.measures.numbers import number, significant

    rmse, of_mean = summary["test/rmse"], summary["test/rmse_of_mean"]
    pearson, spearman, error = (number_told(f"test/{name}", summary, found) for name in ("pearson", "spearman", "rmse"))
    over = "" if found is None else f", over {found.texts:,} test texts"
    return (
        f"The model returns one number for each text. Its correlation with the labels is {pearson} (Pearson) and {spearman} "
        f"(Spearman){over}. Its root mean squared error is {error}, {'less' if rmse < of_mean else 'no less'} than "
        f"{number(of_mean)}, the error of always returning the mean label. Evidence is in σ, the standard "
        f"deviation of its numbers: {significant(summary['number/deviation'])}."
    )


def configured(config: Any) -> bool:
    """Return whether a configuration says that a text is given one number."""
    return config.num_labels == 1 and config.problem_type in (None, "regression")


NUMBER = Kind(
    "number", of_numbers, told, predicted="prediction", chooses=False, right=False, score="rmse", constant=False,
    order="the smallest to the largest number", head=OF_TEXTS, configured=configured, own=True, named=False,
)  # fmt: skip
