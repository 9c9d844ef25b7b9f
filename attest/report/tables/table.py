"""All numbers and claims of a table, from the run folders of its rows: tidy frames, one row a number or claim.

What a table has read from evidence, kept beside it: ``evidence.json``.

Evidence is too large to keep for long, and numbers by text and tests over texts need it. So whatever is computed from it is
written down with the names of its runs, and read again when the same runs are there without their evidence.

What a run folder says about one column of a table: a number and, for a mean, its values.

One seed, two rows: their numbers text by text, and the one-sided tests of a claim over them.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attest.core.measures import OverSeeds, mcnemar, signed_rank
from attest.report.tables.comparison import NOT_RUN, RULES, UNDEFINED, interval_90, judge_claim, judge_number, margin, p_above
from attest.runs.comparison import compare_runs
from attest.runs.expression import evaluated, rows_where
from attest.runs.folder import INSTANCES, RunFolder, read_json, write_json
from attest.runs.published_tables import Claim, Column, Place, PublishedTable

FILE = "evidence.json"
RUN = re.compile(r"[^/]+/[^/]+/seed\d+(?:/.+)?$")

Entry = dict[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """Entries of numbers and claims, by what they are about.

    An entry has ``runs``, their names; ``mean``, ``std`` (None for one seed) and ``seeds``; of a number also ``values``, that
    of each run by its name (entries older than 2026-11-24 have none); of a claim also ``tests``, a ``PairedTest`` a seed with
    ``rules``, the date of the rules by which it was made; and of claims older than these ``two_sided``, the p of each seed
    as it was printed, whose direction nobody knows any more.
    """

    entries: Mapping[Key, Entry] = field(default_factory=dict)

    def of(self, key: Key, folders: Iterable[Path]) -> Entry | None:
        """The entry, where these folders are of the runs that it is about."""
        entry = self.entries.get(key)
        return entry if entry is not None and sorted(entry["runs"]) == sorted(map(run_name, folders)) else None

    def values(self, key: Key) -> Mapping[str, float]:
        """The number of each run by its name, as far as that is known."""
        entry = self.entries.get(key, {"runs": []})
        alone = {entry["runs"][0]: entry["mean"]} if len(entry["runs"]) == entry.get("seeds") == 1 else {}
        return entry.get("values", alone)


def run_name(folder: Path) -> str:
    """``<data>/<readable name>/seed<n>[/…]``: a run's folder, wherever all runs lie."""
    match = RUN.search(folder.as_posix())
    return match[0] if match else folder.as_posix()


def entry_of(ours: OverSeeds, folders: Iterable[Path]) -> Entry:
    """What is kept of a number or a difference."""
    std = ours.std if ours.seeds > 1 else None
    return {"runs": [run_name(folder) for folder in folders], "mean": ours.mean, "std": std, "seeds": ours.seeds}


def values_by_run(runs: Mapping[int, Path], values: Mapping[int, float]) -> dict[str, float]:
    """Numbers by the names of their runs, both given by seed."""
    return {run_name(runs[seed]): value for seed, value in values.items()}


def ours_of(entry: Entry) -> OverSeeds:
    """The number that was kept."""
    return OverSeeds(entry["mean"], float("nan") if entry["std"] is None else entry["std"], entry["seeds"])


def read_kept(folder: Path) -> Kept:
    """What is kept beside a table; nothing where there is no such file."""
    file = folder / FILE
    return Kept({tuple(each["of"]): each for each in read_json(file)["entries"]} if file.is_file() else {})


def write_kept(folder: Path, entries: Mapping[Key, Entry]) -> None:
    """Keep these beside a table, where there are any."""
    if entries:
        write_json(
            folder / FILE, {"rules": RULES.fixed, "entries": [{"of": list(key)} | each for key, each in entries.items()]}
        )


PREDICTED = "/predicted_"
SEEDS = "E5"
"""The experiment that no run can hold alone: each seed against the first."""


def measured(folder: Path, column: Column) -> float | None:
    """The number of a run; None where the run has none, for lack of this evidence or because it is undefined.

    Args:
        folder: of a finished run.
        column: which quantity.
    """
    if column.key:
        value = summary_of(folder).get(column.key)
        return None if value is None else float(value)
    rows = evidence_rows(folder, column.table)
    if rows is None:
        return None
    values = _chosen(rows, column).dropna()
    return None if values.empty else float(values.agg(column.statistic))


def instance_values(folder: Path, column: Column) -> pd.Series | None:
    """One float an instance, indexed by id, of which the number is the mean; None where it is the mean of none.

    Empty where the table of evidence is not there, as in a folder that was kept without.
    """
    averaged = _as_average(column)
    if averaged is None:
        return None
    rows = evidence_rows(folder, averaged.table)
    return pd.Series(dtype=float) if rows is None else _chosen(rows, averaged)


def _as_average(column: Column) -> Column | None:
    """The column as the mean over a table of evidence, where it is one; accuracy is that of right decisions."""
    if column.table:
        return column if column.statistic == "mean" else None
    if column.key == "test/accuracy":
        return replace(column, key="", table=INSTANCES, value="label == predicted")
    identity, _, rest = column.key.partition("/")
    name, _, statistic = rest.partition("/")
    mean, _, predicted = statistic.partition(PREDICTED)
    if mean != "mean":
        return None
    return replace(column, key="", table=identity, value=name, where=f"predicted == {predicted}" if predicted else "")


def _chosen(rows: pd.DataFrame, column: Column) -> pd.Series:
    chosen = rows_where(column.where, rows) if column.where else rows
    return evaluated(column.value, chosen).set_axis(chosen["id"]).astype(float)


@lru_cache(maxsize=1024)
def summary_of(folder: Path) -> dict[str, Any]:
    """Of a finished run."""
    return read_json(RunFolder(folder).summary)


def _against_first_seed(run: RunFolder) -> pd.DataFrame | None:
    first = RunFolder(run.path.with_name("seed0"))
    there = all(folder.evidence(INSTANCES).is_file() for folder in (run, first))
    return compare_runs(first, run) if there and run.path != first.path else None


@lru_cache(maxsize=16)
def evidence_rows(folder: Path, identity: str) -> pd.DataFrame | None:
    """A table of evidence, or None where there is none."""
    if identity == SEEDS:
        return _against_first_seed(RunFolder(folder))
    path = RunFolder(folder).evidence(identity)
    if not path.is_file():
        return None
    return pd.read_parquet(path)


FEWEST = 2
"""Texts that a test needs."""


@dataclass(frozen=True)
class PairedTest:
    """What is kept of a test, so that another rule can judge it when the evidence is gone.

    Args:
        test: ``McNemar`` or ``Wilcoxon``.
        expect: the direction tested: left ``less`` or ``greater`` than right.
        pairs: texts of which both numbers are defined.
        above, below: in how many of them left is greater, and less.
        statistic: of Wilcoxon the sum of the ranks of positive differences, of McNemar ``above``; NaN where none differ.
        p: one-sided; NaN for fewer than two texts, 1 where none differ.
    """

    test: str
    expect: str
    pairs: int
    above: int
    below: int
    statistic: float
    p: float


def in_pairs(left: pd.Series, right: pd.Series) -> pd.DataFrame:
    """The texts of which both numbers are defined: ``left`` and ``right``, floats, indexed by text as these are."""
    return pd.concat({"left": left, "right": right}, axis=1, join="inner").dropna()


def paired_test(pairs: pd.DataFrame, expect: str) -> PairedTest:
    """Test decisions (values 0 and 1 alone) by McNemar's exact test, other values by Wilcoxon's signed-rank test.

    Args:
        pairs: as from ``in_pairs``.
        expect: ``less`` or ``greater``.
    """
    decisions = bool(pairs.isin((0.0, 1.0)).all(axis=None))
    left, right = (pairs[side].to_numpy(bool if decisions else float) for side in ("left", "right"))
    found = (mcnemar if decisions else signed_rank)(left, right, expect)
    p = found.p_value if len(pairs) >= FEWEST else math.nan
    statistic = found.statistic if len(pairs) >= FEWEST else math.nan
    name = "McNemar" if decisions else "Wilcoxon"
    return PairedTest(name, expect, len(pairs), found.only_first, found.only_second, statistic, p)


Folders = Mapping[Place, Mapping[int, Path]]
"""By place and seed, the folders of those runs that are finished."""
NOTHING_KEPT = Kept()

NOTHING_PUBLISHED = {
    "published": "",
    "source": "",
    "setting": None,
    "difference": np.nan,
    "margin": np.nan,
    "verdict": "",
}


@dataclass(frozen=True)
class Found:
    """A number over seeds, and where it comes from.

    Args:
        ours: the number.
        absent: why there is none.
        keep: what is to be kept of it, as it was read from evidence; None for what summaries hold.
        gone: whether its evidence is gone, so that this is what was kept.
    """

    ours: OverSeeds
    absent: str = ""
    keep: Entry | None = None
    gone: bool = False


def table_numbers(experiment: PublishedTable, folders: Folders, kept: Kept = NOTHING_KEPT) -> pd.DataFrame:
    """Every number of a table.

    Args:
        experiment: the table.
        folders: every place of the table; those of which nothing is finished have no seeds.
        kept: what was read from evidence when it was there.
    Returns:
        One row a number and source: ``data``, ``row``, ``at`` (the value of the sweep; NaN for none), ``column``, ``ours``,
        ``std`` (over seeds), ``low`` and ``high`` (of the 90 % interval), ``seeds`` (how many), ``absent`` (why there are
        none), ``gone`` (whether its evidence is), ``published``, ``source``, ``setting`` (how that is to
        ours), ``difference``, ``margin`` and ``verdict``; the last six empty where nothing was published; and ``keep``, what
        is to be kept of it ``about`` which number.
    """
    return pd.DataFrame(
        [line for place in _places(experiment, folders) for line in _numbers(experiment, folders, kept, *place)]
    )


def _places(experiment: PublishedTable, folders: Folders) -> list[tuple[str, str]]:
    """Row and corpus of what is in the table, in its order."""
    return list(dict.fromkeys((row, data) for row, data, _ in folders))


def _numbers(experiment: PublishedTable, folders: Folders, kept: Kept, row: str, data: str) -> Iterator[dict[str, Any]]:
    here = {at: runs for (*place, at), runs in folders.items() if place == [row, data]}
    for column in experiment.columns.values():
        if column.along:
            values = list(along_sweep(here, column).values())
            found = Found(OverSeeds.of(values), why_absent(values, list(here.values())))
            yield from _lines(experiment, row, data, None, column, found)
            continue
        for at, runs in here.items():
            yield from _lines(experiment, row, data, at, column, _found(runs, column, kept, number_key(data, row, at, column)))


def number_key(data: str, row: str, at: float | None, column: Column) -> Key:
    """What an entry of a number is about."""
    return data, row, "" if at is None else f"{at:g}", column.name


def claim_key(data: str, claim: Claim) -> Key:
    """What an entry of a claim is about."""
    return data, claim.that


def _found(runs: Mapping[int, Path], column: Column, kept: Kept, key: Key) -> Found:
    """What the runs say; of those whose evidence is gone, what was kept of it."""
    values = over_seeds(runs, column)
    if not column.table:
        return Found(OverSeeds.of(list(values.values())), why_absent(values, [runs]))
    entry = kept.of(key, runs.values())
    if entry is not None and entry["seeds"] > len(values):
        return Found(ours_of(entry), keep=entry, gone=True)
    both = _with_kept(runs, values, column, kept.values(key))
    ours = OverSeeds.of(list(both.values()))
    keep = entry_of(ours, runs.values()) | {"values": values_by_run(runs, both)} if both else None
    return Found(ours, why_absent(both, [runs]), keep, gone=len(both) > len(values))


def _with_kept(
    runs: Mapping[int, Path], values: Mapping[int, float], column: Column, kept: Mapping[str, float]
) -> dict[int, float]:
    """The numbers that were read, and those that were kept of runs whose evidence is gone, by seed."""
    known = {seed: kept[run_name(folder)] for seed, folder in runs.items() if run_name(folder) in kept}
    gone = {seed: value for seed, value in known.items() if evidence_rows(runs[seed], column.table) is None}
    return dict(sorted((gone | dict(values)).items()))


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
    from scipy.stats import kendalltau, pearsonr  # most of a second, which tables without a sweep do not wait for

    by_value = {at: over_seeds(by_seed, column) for at, by_seed in runs.items()}
    correlate = {"pearson": pearsonr, "kendall": kendalltau}[column.along]
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
    experiment: PublishedTable, row: str, data: str, at: float | None, column: Column, found: Found
) -> Iterator[dict[str, Any]]:
    ours, published = found.ours, experiment.rows[row].published
    low, high = interval_90(ours)
    line = {"data": data, "row": row, "at": np.nan if at is None else at, "column": column.name}
    line |= {"ours": ours.mean, "std": ours.std, "low": low, "high": high, "seeds": ours.seeds}
    line |= {"absent": found.absent, "gone": found.gone, "about": number_key(data, row, at, column), "keep": found.keep}
    sources = [name for name in published if column.name in published[name].get(data, {})]
    for name in sources:
        source, quoted = experiment.sources[name], published[name][data][column.name]
        judged = column.judged and not source.own
        yield line | {
            "published": quoted.text,
            "source": source.citation,
            "setting": None if source.own else source.likeness_to(experiment.rows[row].run).degree,
            "difference": ours.mean - quoted.value,
            "margin": margin(quoted.value, column) if judged else np.nan,
            "verdict": (found.absent or judge_number(ours, quoted.value, column)) if judged else "",
        }
    if not sources:
        yield line | NOTHING_PUBLISHED


def table_claims(experiment: PublishedTable, folders: Folders, kept: Kept = NOTHING_KEPT) -> pd.DataFrame:
    """Every claim of a table on every corpus that is in it.

    Returns:
        One row a claim and corpus: ``data``, ``claim``, ``left``, ``expect``, ``right``, ``difference`` (mean over seeds),
        ``std``, ``seeds``, ``absent`` (why there is none), ``gone`` (whether the evidence is that it needs), ``p_seeds``
        (one-sided; NaN for ``equal`` and for too few seeds), ``tests`` (a ``PairedTest`` a seed, as a dictionary),
        ``two_sided`` (older p of tests whose evidence is gone), ``published`` (the difference of the published numbers of one
        source; NaN where there are none) and ``verdict``; and ``keep``, what is to be kept of it ``about`` which claim.
    """
    corpora = {data for _, data, _ in folders}
    return pd.DataFrame(
        [
            _judged(experiment, folders, kept, claim, data)
            for claim in experiment.claims
            for data in claim.data
            if data in corpora
        ]
    )


def _judged(experiment: PublishedTable, folders: Folders, kept: Kept, claim: Claim, data: str) -> dict[str, Any]:
    found, tests = _compared(experiment, folders, kept, claim, data)
    difference, entry = found.ours, found.keep or {}
    claimed = -difference if claim.expect == "less" else difference
    allowed = experiment.columns[claim.left[1]].margin
    return {
        "data": data,
        "claim": claim.that,
        "left": " · ".join(claim.left),
        "expect": claim.expect,
        "right": " · ".join(claim.right),
        "difference": difference.mean,
        "std": difference.std,
        "seeds": difference.seeds,
        "absent": found.absent,
        "gone": found.gone,
        "p_seeds": np.nan if claim.expect == "equal" else p_above(claimed, 0),
        "tests": tests,
        "two_sided": entry.get("two_sided", []),
        "published": published_difference(experiment, claim, data),
        "verdict": found.absent or judge_claim(claim.expect, difference, [test["p"] for test in tests], allowed),
        "about": claim_key(data, claim),
        "keep": found.keep,
    }


def _compared(
    experiment: PublishedTable, folders: Folders, kept: Kept, claim: Claim, data: str
) -> tuple[Found, list[dict[str, Any]]]:
    """The difference of both sides, and the tests over texts of every seed that has evidence; else what was kept of both."""
    sides = claim.left, claim.right
    columns = [experiment.columns[column] for _, column in sides]
    runs = [folders.get((row, data, None), {}) for row, _ in sides]
    keys = [number_key(data, row, None, column) for (row, _), column in zip(sides, columns, strict=True)]
    read_now = [over_seeds(run, column) for run, column in zip(runs, columns, strict=True)]
    known = [kept.values(key) for key in keys]
    values = [_with_kept(*each) for each in zip(runs, read_now, columns, known, strict=True)]
    seeds = sorted(set(values[0]) & set(values[1]))
    pairs = {seed: _pairs([run[seed] for run in runs], columns) if claim.paired else None for seed in seeds}
    differences = [_difference(pairs[seed], values[0][seed] - values[1][seed]) for seed in seeds]
    ours, here = OverSeeds.of(differences), [folder for run in runs for folder in run.values()]
    read = [each for each in pairs.values() if each is not None and len(each)]
    entry = kept.of(claim_key(data, claim), here)
    if entry is not None and len(read) < entry["seeds"]:
        return _as_kept(entry, ours), entry.get("tests", [])
    tests = [_tested(each, claim.expect) for each in read if claim.expect != "equal"]
    keep = entry_of(ours, here) | {"tests": tests} if read else None
    return Found(ours, why_absent(seeds, runs), keep, gone=values != read_now), tests


def _as_kept(entry: Entry, ours: OverSeeds) -> Found:
    """A claim whose evidence is gone: by what was kept of it, or by summaries where that was its tests alone."""
    gone = "mean" in entry
    return Found(ours_of(entry) if gone else ours, keep=entry, gone=gone)


def _tested(pairs: pd.DataFrame, expect: str) -> dict[str, Any]:
    test: PairedTest = paired_test(pairs, expect)
    return asdict(test) | {"rules": RULES.fixed}


def _pairs(folders: Sequence[Path], columns: Sequence[Column]) -> pd.DataFrame | None:
    """Of one seed: the texts that have both numbers, none where evidence is missing; None where they cannot be paired."""
    left, right = (instance_values(folder, column) for folder, column in zip(folders, columns, strict=True))
    return None if left is None or right is None else in_pairs(left, right)


def _difference(pairs: pd.DataFrame | None, own: float) -> float:
    """Left minus right over the pairs; of the runs' own numbers where there are none."""
    return own if pairs is None or pairs.empty else float(pairs["left"].mean() - pairs["right"].mean())


def published_difference(experiment: PublishedTable, claim: Claim, data: str) -> float:
    """Of the two sides' published numbers, by the first source that has both; NaN where none has."""
    for source in experiment.sources:
        numbers = [
            experiment.rows[row].published.get(source, {}).get(data, {}).get(column)
            for row, column in (claim.left, claim.right)
        ]
        if numbers[0] is not None and numbers[1] is not None:
            return numbers[0].value - numbers[1].value
    return np.nan
