"""Compute all numbers and claims of a table from the run folders of its rows, as data frames with one row for each number or
claim. Evidence is too large to keep for long, so ``evidence.json`` beside the table keeps the numbers and tests that were
computed from it, with the names of their runs, and the table uses them when the evidence of these runs is gone.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attest.core.measures import OverSeeds, mcnemar, signed_rank
from attest.core.measures.summary import knee
from attest.replication.comparison import NOT_RUN, RULES, UNDEFINED, interval_90, judge_claim, judge_number, margin, p_above
from attest.runs.comparison import compare_runs
from attest.runs.contents import RunContents
from attest.runs.expression import evaluated, rows_where
from attest.runs.folder import INSTANCES, RunFolder, read_json, write_json
from attest.runs.published_tables import Place, PublishedClaim, PublishedColumn, PublishedTable

FILE = "evidence.json"
RUN = re.compile(r"[^/]+/[^/]+/seed\d+(?:/.+)?$")

Entry = dict[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True)
class KeptNumbers:
    """The stored numbers and test results of a table, which remain when the runs' own tables are deleted.

    Each entry has ``runs`` (the names of the runs), ``mean``, ``std`` (None for one seed) and ``seeds``. The entry of a number
    also has ``values``, the number of each run by the name of the run; entries older than 2026-11-24 lack it. The entry of a
    claim also has ``tests``, the result of ``paired_test`` for each seed, each with ``rules``, the date of the rules by which
    it was made. Claims tested by older rules have ``two_sided`` instead, the printed p-value of each seed, of unknown
    direction.
    """

    entries: Mapping[Key, Entry] = field(default_factory=dict)

    def of(self, key: Key, folders: Iterable[Path]) -> Entry | None:
        """Return the stored entry under a key; None if there is none or if it was computed from other runs."""
        entry = self.entries.get(key)
        return entry if entry is not None and sorted(entry["runs"]) == sorted(map(run_name, folders)) else None

    def values(self, key: Key) -> Mapping[str, float]:
        """Return the stored number of each run by the name of the run; empty if nothing is stored."""
        entry = self.entries.get(key, {"runs": []})
        alone = {entry["runs"][0]: entry["mean"]} if len(entry["runs"]) == entry.get("seeds") == 1 else {}
        return entry.get("values", alone)


def run_name(folder: Path) -> str:
    """Return the part of a run's path that identifies the run, ``<data>/<readable name>/seed<n>[/…]``."""
    match = RUN.search(folder.as_posix())
    return match[0] if match else folder.as_posix()


def _entry_of(ours: OverSeeds, folders: Iterable[Path]) -> Entry:
    std = ours.std if ours.seeds > 1 else None
    return {"runs": [run_name(folder) for folder in folders], "mean": ours.mean, "std": std, "seeds": ours.seeds}


def _over_seeds_of(entry: Entry) -> OverSeeds:
    return OverSeeds(entry["mean"], math.nan if entry["std"] is None else entry["std"], entry["seeds"])


def read_kept(folder: Path) -> KeptNumbers:
    """Read the stored numbers of a table from a file in its folder; empty if there is no such file."""
    file = folder / FILE
    return KeptNumbers({tuple(each["of"]): each for each in read_json(file)["entries"]} if file.is_file() else {})


def write_kept(folder: Path, entries: Mapping[Key, Entry]) -> None:
    """Store numbers and test results of a table (``entries``) in a file in its folder; write nothing if empty."""
    if entries:
        content = [{"of": list(key)} | each for key, each in entries.items()]
        write_json(folder / FILE, {"rules": RULES["fixed"], "entries": content})


PREDICTED = "/predicted_"
SEEDS = "E5"
"""The id of the experiment that compares the runs of all other seeds with the run of seed 0."""


def measured(folder: Path, column: PublishedColumn) -> float | None:
    """Return a run's number for one column of a published table; None if the number is missing or undefined."""
    if column.key:
        value = summary_of(folder).get(column.key)
        return None if value is None else float(value)
    rows = evidence_rows(folder, column.table)
    values = None if rows is None else _chosen(rows, column).dropna()
    return None if values is None or values.empty else float(values.agg(column.statistic))


def instance_values(folder: Path, column: PublishedColumn) -> pd.Series | None:
    """Return the values of which a table column shows the mean, by instance id; None if the column shows no mean.

    The result is empty if the table of evidence is missing, as in a folder that was kept without evidence.
    """
    averaged = _as_average(column)
    if averaged is None:
        return None
    rows = evidence_rows(folder, averaged.table)
    return pd.Series(dtype=float) if rows is None else _chosen(rows, averaged)


def _as_average(column: PublishedColumn) -> PublishedColumn | None:
    """Rewrite a column as a mean over the rows of a results table; return None if it is no such mean."""
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


def _chosen(rows: pd.DataFrame, column: PublishedColumn) -> pd.Series:
    chosen = rows_where(column.where, rows) if column.where else rows
    return evaluated(column.value, chosen).set_axis(chosen["id"]).astype(float)


@lru_cache(maxsize=1024)
def summary_of(folder: Path) -> dict[str, Any]:
    """Return the summary of a finished run."""
    return read_json(RunFolder(folder).summary)


@lru_cache(maxsize=16)
def evidence_rows(folder: Path, identity: str) -> pd.DataFrame | None:
    """Return the table of a run by its id, such as ``E2``; None if the run has no such table."""
    run, first = RunFolder(folder), RunFolder(folder.with_name("seed0"))
    if identity == SEEDS:
        there = all(each.evidence(INSTANCES).is_file() for each in (run, first))
        return compare_runs(RunContents(first), RunContents(run)) if there and run.path != first.path else None
    path = run.evidence(identity)
    return pd.read_parquet(path) if path.is_file() else None


FEWEST = 2


def in_pairs(left: pd.Series, right: pd.Series) -> pd.DataFrame:
    """Return a table with the columns ``left`` and ``right``, one row for each text that has both numbers."""
    return pd.concat({"left": left, "right": right}, axis=1, join="inner").dropna()


def paired_test(pairs: pd.DataFrame, expect: str) -> dict[str, Any]:
    """Test pairs of decisions (0 or 1) by McNemar's exact test, and pairs of other values by Wilcoxon's signed-rank test.

    Returns:
        What is kept so that another rule can judge the test when the evidence is gone: ``test``, ``expect``, ``pairs``,
        ``above`` and ``below``, counts; ``statistic`` (for Wilcoxon the sum of the ranks of positive differences, for McNemar
        ``above``; NaN if none differ); ``p``, one-sided, NaN for fewer than two texts, 1 if none differ.
    """
    decisions = bool(pairs.isin((0.0, 1.0)).all(axis=None))
    left, right = (pairs[side].to_numpy(bool if decisions else float) for side in ("left", "right"))
    found = (mcnemar if decisions else signed_rank)(left, right, expect)
    statistic, p = (found.statistic, found.p_value) if len(pairs) >= FEWEST else (math.nan, math.nan)
    counts = {"pairs": len(pairs), "above": found.only_first, "below": found.only_second}
    return {"test": "McNemar" if decisions else "Wilcoxon", "expect": expect, **counts, "statistic": statistic, "p": p}


Folders = Mapping[Place, Mapping[int, Path]]
"""The folders of the finished runs of a published table: by place in the table (row, corpus, value of the sweep), then by
seed."""
NOTHING_KEPT = KeptNumbers()

NOTHING_PUBLISHED = {"published": "", "source": "", "setting": None, "difference": np.nan, "margin": np.nan, "verdict": ""}


@dataclass(frozen=True)
class NumberOverSeeds:
    """The value of one table cell for each seed, read from the runs' own tables or stored earlier.

    Args:
        absent: the reason why there is no number; empty if there is one.
        keep: the entry to store for a number that comes from evidence; None if the number comes from summaries.
    """

    ours: OverSeeds
    absent: str = ""
    keep: Entry | None = None
    gone: bool = False


def table_numbers(table: PublishedTable, folders: Folders, kept: KeptNumbers = NOTHING_KEPT) -> pd.DataFrame:
    """Compare our numbers of a table with the published ones: return one row for each number and publication.

    Args:
        folders: the folders of every place of the table; a place without finished runs has no seeds.
    Returns:
        One row for each number and source: ``data``, ``row``, ``at`` (the value of the sweep; NaN without sweep), ``column``,
        ``ours``, ``std`` (over seeds), ``low`` and ``high`` (of the 90 % interval), ``seeds`` (their count), ``absent`` (why
        there is no number), ``gone`` (whether its evidence is deleted), ``about`` (the key of the number) and ``keep`` (the
        entry to store under this key). The other columns are empty if nothing was published: ``published``, ``source``,
        ``setting`` (how similar the published setting is to ours), ``difference``, ``margin`` and ``verdict``.
    """
    places = dict.fromkeys((row, data) for row, data, _ in folders)  # in the order of the table
    return pd.DataFrame([line for place in places for line in _numbers(table, folders, kept, *place)])


def _numbers(table: PublishedTable, folders: Folders, kept: KeptNumbers, row: str, data: str) -> Iterator[dict[str, Any]]:
    here = {at: runs for (*place, at), runs in folders.items() if place == [row, data]}
    for column in table.columns.values():
        if column.along:
            found_along = at_knee(here, column, table.columns[column.cost]) if column.cost else along_sweep(here, column)
            values = list(found_along.values())
            found = NumberOverSeeds(OverSeeds.of(values), why_absent(values, list(here.values())))
            yield from _lines(table, row, data, None, column, found)
            continue
        for at, runs in here.items():
            found = _number(runs, column, kept, _number_key(data, row, at, column))
            yield from _lines(table, row, data, at, column, found)


def _number_key(data: str, row: str, at: float | None, column: PublishedColumn) -> Key:
    return data, row, "" if at is None else f"{at:g}", column.name


def _number(runs: Mapping[int, Path], column: PublishedColumn, kept: KeptNumbers, key: Key) -> NumberOverSeeds:
    values = over_seeds(runs, column)
    if not column.table:
        return NumberOverSeeds(OverSeeds.of(list(values.values())), why_absent(values, [runs]))
    entry = kept.of(key, runs.values())
    if entry is not None and entry["seeds"] > len(values):
        return NumberOverSeeds(_over_seeds_of(entry), keep=entry, gone=True)
    both = _with_kept(runs, values, column, kept.values(key))
    ours, by_run = OverSeeds.of(list(both.values())), {run_name(runs[seed]): value for seed, value in both.items()}
    keep = _entry_of(ours, runs.values()) | {"values": by_run} if both else None
    return NumberOverSeeds(ours, why_absent(both, [runs]), keep, gone=len(both) > len(values))


def _with_kept(
    runs: Mapping[int, Path], values: Mapping[int, float], column: PublishedColumn, kept: Mapping[str, float]
) -> dict[int, float]:
    """Return a cell's value for each seed: from the run's table, or the stored value if that table is deleted."""
    known = {seed: kept[run_name(folder)] for seed, folder in runs.items() if run_name(folder) in kept}
    gone = {seed: value for seed, value in known.items() if evidence_rows(runs[seed], column.table) is None}
    return dict(sorted((gone | dict(values)).items()))


def over_seeds(runs: Mapping[int, Path], column: PublishedColumn) -> dict[int, float]:
    """Return the value of a column for each seed that has one."""
    values = {seed: measured(folder, column) for seed, folder in runs.items()}
    return {seed: value for seed, value in values.items() if value is not None}


def along_sweep(runs: Mapping[float | None, Mapping[int, Path]], column: PublishedColumn) -> dict[int, float]:
    """Return for each seed the correlation of a quantity with the values of a sweep."""
    from scipy.stats import kendalltau, pearsonr  # slow, and only sweeps need it

    correlate = {"pearson": pearsonr, "kendall": kendalltau}[column.along]
    along = _by_seed(runs, column)
    return {seed: float(correlate(list(runs), values).statistic) for seed, values in along.items() if len(set(values)) > 1}


def at_knee(
    runs: Mapping[float | None, Mapping[int, Path]], column: PublishedColumn, cost: PublishedColumn
) -> dict[int, float]:
    """Return for each seed the value of a quantity at the knee of its curve against its cost, one point for each value of a
    sweep. Seeds whose curve has no knee are left out.
    """
    gained, paid = _by_seed(runs, column), _by_seed(runs, cost)
    bends = {seed: knee(np.array(gained[seed]), np.array(paid[seed])) for seed in gained if seed in paid}
    return {seed: gained[seed][bend] for seed, bend in bends.items() if bend is not None}


def _by_seed(runs: Mapping[float | None, Mapping[int, Path]], column: PublishedColumn) -> dict[int, list[float]]:
    """Return the values of a column at each value of a sweep, for each seed that has all of them."""
    by_value = [over_seeds(by_seed, column) for by_seed in runs.values()]
    return {seed: [values[seed] for values in by_value] for seed in sorted(set.intersection(*map(set, by_value)))}


def why_absent(values: Collection[Any], runs: Sequence[Mapping[int, Path]]) -> str:
    """Return why a number is absent: ``undefined`` or ``not run``; an empty text if the number is not absent."""
    if values:
        return ""
    return UNDEFINED if set.intersection(*map(set, runs)) else NOT_RUN


def _lines(
    table: PublishedTable, row: str, data: str, at: float | None, column: PublishedColumn, found: NumberOverSeeds
) -> Iterator[dict[str, Any]]:
    ours, published = found.ours, table.rows[row].published
    low, high = interval_90(ours)
    line = {"data": data, "row": row, "at": np.nan if at is None else at, "column": column.name}
    line |= {"ours": ours.mean, "std": ours.std, "low": low, "high": high, "seeds": ours.seeds}
    line |= {"absent": found.absent, "gone": found.gone, "about": _number_key(data, row, at, column), "keep": found.keep}
    sources = [name for name in published if column.name in published[name].get(data, {})]
    for name in sources:
        source, quoted = table.sources[name], published[name][data][column.name]
        judged = column.judged and not source.own
        yield line | {
            "published": quoted.text,
            "source": source.citation,
            "setting": None if source.own else source.likeness_to(table.rows[row].run).degree,
            "difference": ours.mean - quoted.value,
            "margin": margin(quoted.value, column) if judged else np.nan,
            "verdict": (found.absent or judge_number(ours, quoted.value, column)) if judged else "",
        }
    if not sources:
        yield line | NOTHING_PUBLISHED


def table_claims(table: PublishedTable, folders: Folders, kept: KeptNumbers = NOTHING_KEPT) -> pd.DataFrame:
    """Judge every claim of a table on every corpus of the table.

    Returns:
        One row for each claim and corpus: ``data``, ``claim``, ``left``, ``expect``, ``right``, ``difference`` (mean over
        seeds), ``std``, ``seeds``, ``absent`` (why there is no difference), ``gone`` (whether evidence that it needs is
        deleted), ``p_seeds`` (one-sided; NaN for ``equal`` or too few seeds), ``tests`` (one result of ``paired_test`` for
        each seed), ``two_sided`` (older p-values of tests whose evidence is deleted), ``published`` (the difference of the
        published numbers of one source; NaN without them), ``verdict``, ``about`` (the key of the claim) and ``keep`` (the
        entry to store under this key).
    """
    corpora = {data for _, data, _ in folders}
    asked = [(claim, data) for claim in table.claims for data in claim.data if data in corpora]
    return pd.DataFrame([_judged(table, folders, kept, *each) for each in asked])


def _judged(table: PublishedTable, folders: Folders, kept: KeptNumbers, claim: PublishedClaim, data: str) -> dict[str, Any]:
    found, tests = _compared(table, folders, kept, claim, data)
    difference, entry = found.ours, found.keep or {}
    claimed = -difference if claim.expect == "less" else difference
    allowed, p_values = table.columns[claim.left[1]].margin, [test["p"] for test in tests]
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
        "published": published_difference(table, claim, data),
        "verdict": found.absent
        or judge_claim(claim.expect, difference, p_values, allowed, together=table.judged_together(claim, data)),
        "about": (data, claim.that),
        "keep": found.keep,
    }


def _compared(
    table: PublishedTable, folders: Folders, kept: KeptNumbers, claim: PublishedClaim, data: str
) -> tuple[NumberOverSeeds, list[dict[str, Any]]]:
    sides = claim.left, claim.right
    columns = [table.columns[column] for _, column in sides]
    runs = [folders.get((row, data, None), {}) for row, _ in sides]
    keys = [_number_key(data, row, None, column) for (row, _), column in zip(sides, columns, strict=True)]
    read_now = [over_seeds(run, column) for run, column in zip(runs, columns, strict=True)]
    known = [kept.values(key) for key in keys]
    values = [_with_kept(*each) for each in zip(runs, read_now, columns, known, strict=True)]
    seeds = sorted(set(values[0]) & set(values[1]))
    pairs = {seed: _pairs([run[seed] for run in runs], columns) if claim.paired else None for seed in seeds}
    read = [each for each in pairs.values() if each is not None and len(each)]
    differences = []
    for seed in seeds:  # over the pairs of texts; of the runs' own numbers if there are no pairs
        each = pairs[seed]
        apart = values[0][seed] - values[1][seed]
        differences.append(apart if each is None or each.empty else float(each["left"].mean() - each["right"].mean()))
    ours, here = OverSeeds.of(differences), [folder for run in runs for folder in run.values()]
    entry = kept.of((data, claim.that), here)
    if entry is not None and len(read) < entry["seeds"]:
        gone = "mean" in entry  # else only the tests of the claim were kept
        return NumberOverSeeds(_over_seeds_of(entry) if gone else ours, keep=entry, gone=gone), entry.get("tests", [])
    tested = [] if claim.expect == "equal" else [paired_test(each, claim.expect) for each in read]
    tests = [test | {"rules": RULES["fixed"]} for test in tested]
    keep = _entry_of(ours, here) | {"tests": tests} if read else None
    return NumberOverSeeds(ours, why_absent(seeds, runs), keep, gone=values != read_now), tests


def _pairs(folders: Sequence[Path], columns: Sequence[PublishedColumn]) -> pd.DataFrame | None:
    """Return the two values that a claim compares, for each text of a seed; None if a column is no mean over texts."""
    left, right = (instance_values(folder, column) for folder, column in zip(folders, columns, strict=True))
    return None if left is None or right is None else in_pairs(left, right)


def published_difference(table: PublishedTable, claim: PublishedClaim, data: str) -> float:
    """Return the difference of a claim's two published numbers, from the first publication with both; NaN if none."""
    sides = (claim.left, claim.right)
    for source in table.sources:
        left, right = (table.rows[row].published.get(source, {}).get(data, {}).get(column) for row, column in sides)
        if left is not None and right is not None:
            return left.value - right.value
    return np.nan
