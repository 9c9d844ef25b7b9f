"""All numbers and claims of a table, from the run folders of its rows: tidy frames, one row a number or claim."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from attest.tables.comparison import (
    NOT_RUN,
    UNDEFINED,
    Ours,
    difference_in_spreads,
    in_pairs,
    judge_claim,
    judge_number,
    paired_p,
)
from attest.tables.definition import Claim, Column, Experiment
from attest.tables.measured import instance_values, measured

Place = tuple[str, str, float | None]
"""Row, corpus and, in a sweep, value."""
Folders = Mapping[Place, Mapping[int, Path]]
"""By place and seed, the folders of those runs that are finished."""


NOTHING_PUBLISHED = {
    "published": "",
    "source": "",
    "comparable": None,
    "difference": np.nan,
    "in_spreads": np.nan,
    "verdict": "",
}


def table_numbers(experiment: Experiment, folders: Folders) -> pd.DataFrame:
    """Every number of a table.

    Args:
        experiment: the table.
        folders: every place of the table; those of which nothing is finished have no seeds.
    Returns:
        One row a number and source: ``data``, ``row``, ``at`` (the value of the sweep; NaN for none), ``column``, ``ours``,
        ``std`` (over seeds), ``seeds`` (how many), ``values`` (one a seed), ``absent`` (why there are none), ``published``,
        ``source``, ``comparable``, ``difference``, ``in_spreads`` and ``verdict``; the last six empty where nothing was
        published.
    """
    return pd.DataFrame([number for place in _places(experiment, folders) for number in _numbers(experiment, folders, *place)])


def _places(experiment: Experiment, folders: Folders) -> list[tuple[str, str]]:
    """Row and corpus of what is in the table, in its order."""
    return list(dict.fromkeys((row, data) for row, data, _ in folders))


def _numbers(experiment: Experiment, folders: Folders, row: str, data: str) -> Iterator[dict[str, Any]]:
    here = {at: runs for (*place, at), runs in folders.items() if place == [row, data]}
    for column in experiment.columns.values():
        if column.along:
            yield from _lines(experiment, row, data, None, column, along_sweep(here, column), list(here.values()))
            continue
        for at, runs in here.items():
            yield from _lines(experiment, row, data, at, column, over_seeds(runs, column), [runs])


def over_seeds(runs: Mapping[int, Path], column: Column) -> dict[int, float]:
    """The number of every seed that has it."""
    values = {seed: measured(folder, column) for seed, folder in runs.items()}
    return {seed: value for seed, value in values.items() if value is not None}


def along_sweep(runs: Mapping[float | None, Mapping[int, Path]], column: Column) -> dict[int, float]:
    """Correlation of a quantity with the values of a sweep, for every seed that has all of them, where it is defined.

    Args:
        runs: by value of the sweep and seed.
        column: the quantity.
    """
    by_value = {at: over_seeds(by_seed, column) for at, by_seed in runs.items()}
    correlate = {"pearson": stats.pearsonr, "kendall": stats.kendalltau}[column.along]
    along = {
        seed: [values[seed] for values in by_value.values()] for seed in sorted(set.intersection(*map(set, by_value.values())))
    }
    return {seed: float(correlate(list(runs), values).statistic) for seed, values in along.items() if len(set(values)) > 1}


def why_absent(values: Collection[Any], runs: Sequence[Mapping[int, Path]]) -> str:
    """``""`` where there are values; else whether all the runs that would give one are there, of any one seed.

    Args:
        values: one a seed.
        runs: by seed, of every place that a value needs.
    """
    if values:
        return ""
    return UNDEFINED if set.intersection(*map(set, runs)) else NOT_RUN


def _lines(
    experiment: Experiment,
    row: str,
    data: str,
    at: float | None,
    column: Column,
    values: Mapping[int, float],
    runs: Sequence[Mapping[int, Path]],
) -> Iterator[dict[str, Any]]:
    ours, published, absent = Ours(tuple(values.values())), experiment.rows[row].published, why_absent(values, runs)
    line = {"data": data, "row": row, "at": np.nan if at is None else at, "column": column.name}
    line |= {"ours": ours.mean, "std": ours.std, "seeds": len(values), "values": list(ours.values), "absent": absent}
    sources = [name for name in published if column.name in published[name].get(data, {})]
    for name in sources:
        source, quoted = experiment.sources[name], published[name][data][column.name]
        yield line | {
            "published": quoted.text,
            "source": source.citation,
            "comparable": source.comparable,
            "difference": ours.mean - quoted.value,
            "in_spreads": difference_in_spreads(ours, quoted.value),
            "verdict": absent or judge_number(ours, quoted, column),
        }
    if not sources:
        yield line | NOTHING_PUBLISHED


def table_claims(experiment: Experiment, folders: Folders) -> pd.DataFrame:
    """Every claim of a table on every corpus that is in it.

    Returns:
        One row a claim and corpus: ``data``, ``claim``, ``left``, ``expect``, ``right``, ``difference`` (mean over seeds),
        ``std``, ``seeds``, ``absent`` (why there is none), ``p`` (one a seed; empty where instances cannot be paired),
        ``published`` (the difference of the published numbers of one source; NaN where there are none) and ``verdict``.
    """
    corpora = {data for _, data, _ in folders}
    return pd.DataFrame(
        [_judged(experiment, folders, claim, data) for claim in experiment.claims for data in claim.data if data in corpora]
    )


def _judged(experiment: Experiment, folders: Folders, claim: Claim, data: str) -> dict[str, Any]:
    sides = claim.left, claim.right
    columns = [experiment.columns[column] for _, column in sides]
    runs = [folders.get((row, data, None), {}) for row, _ in sides]
    values = [over_seeds(run, column) for run, column in zip(runs, columns, strict=True)]
    seeds = sorted(set(values[0]) & set(values[1]))
    pairs = {seed: _pairs([run[seed] for run in runs], columns) for seed in seeds}
    left, right = (
        [_over_pairs(pairs[seed], side, value[seed]) for seed in seeds]
        for side, value in zip(("left", "right"), values, strict=True)
    )
    p_values = [paired_p(each) for each in pairs.values() if each is not None and claim.expect != "equal"]
    difference = Ours(tuple(np.subtract(left, right).tolist()))
    absent = why_absent(seeds, runs)
    return {
        "data": data,
        "claim": claim.that,
        "left": " · ".join(claim.left),
        "expect": claim.expect,
        "right": " · ".join(claim.right),
        "difference": difference.mean,
        "std": difference.std,
        "seeds": len(seeds),
        "absent": absent,
        "p": p_values,
        "published": published_difference(experiment, claim, data),
        "verdict": absent or judge_claim(claim.expect, left, right, p_values, columns[0].tolerance),
    }


def _pairs(folders: Sequence[Path], columns: Sequence[Column]) -> pd.DataFrame | None:
    """Of one seed: the instances that have both numbers, none where evidence is missing; None where they cannot be paired."""
    left, right = (instance_values(folder, column) for folder, column in zip(folders, columns, strict=True))
    return None if left is None or right is None else in_pairs(left, right)


def _over_pairs(pairs: pd.DataFrame | None, side: str, own: float) -> float:
    """One side's mean over the pairs; the run's own number where there are none."""
    return own if pairs is None or pairs.empty else float(pairs[side].mean())


def published_difference(experiment: Experiment, claim: Claim, data: str) -> float:
    """Of the two sides' published numbers, by the first source that has both; NaN where none has."""
    for source in experiment.sources:
        numbers = [
            experiment.rows[row].published.get(source, {}).get(data, {}).get(column)
            for row, column in (claim.left, claim.right)
        ]
        if numbers[0] is not None and numbers[1] is not None:
            return numbers[0].value - numbers[1].value
    return np.nan
