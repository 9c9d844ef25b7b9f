"""The controls of a base in one table: their scores, and how far they are from the base.

What a base's controls say: uniform attention, other seeds and adversaries, guides; a plain sentence each.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import pandas as pd

from attest.core.measures import summarise
from attest.core.measures.numbers import percent, rounded
from attest.report.collection import Decided, Pairing, paired
from attest.report.evidence_figures import divergence_violins
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.related_table import DISTANCES, REPORT, Conclusion, exceeds, scores_of, write_related_runs
from attest.runs.comparison import compare_runs
from attest.runs.control_names import BY_ADVERSARY, BY_BASE, BY_UNIFORM, GUIDE, UNIFORM
from attest.runs.folder import RunFolder, write_json
from attest.runs.identity import identity_of

Rows = Sequence[Mapping[str, Any]]
MOST = "the most there can be is 0.693"


def conclusions(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None) -> list[Conclusion]:
    """Of the controls that there are.

    Args:
        rows: one a run, the base first; ``experiment``, ``name``, scores and distances to the base.
        pairs: the base, first, against each control, by its name.
        of_use: what is guided by the base's attention, first, against what is guided by uniform attention; None where one of
            the two is missing.
    """
    tagging = any(pair.tagging for pair in pairs.values())
    return [
        *_uniform(rows, pairs.get(UNIFORM), "tokens" if tagging else "test texts"),
        *_moved(rows),
        *_guided(rows, pairs, of_use, "the same tagger" if tagging else "a model without context"),
    ]


def _uniform(rows: Rows, pair: Pairing | None, units: str) -> Iterator[Conclusion]:
    """Better or worse only where a test says so."""
    found = _accuracies(rows, "E4")
    if pair is None or not found:
        return
    does = {1: "does worse", 0: "is not shown to do worse", -1: "does better"}[pair.better]
    rightly = f"It decides {percent(found[UNIFORM], 1)} of the {units} rightly, learned attention {_base(rows)}"
    yield Conclusion(f"Uniform attention {does} than learned attention.", f"{rightly} ({pair.tested}).")


def _moved(rows: Rows) -> Iterator[Conclusion]:
    """An adversary has moved farther than seeds where it lies farther from the base than each of them."""
    seeds = [_distance(row) for row in rows if row["experiment"] == "E5"]
    moved = [row for row in rows if row["name"].startswith(BY_ADVERSARY)]
    floor = f"{_seeds(seeds)} (JSD); {MOST}." if seeds else f"Measured as JSD; {MOST}. Other seeds were not compared."
    if moved:
        farthest = max(moved, key=_distance)
        lies = f"The adversary's attention ({_lambda(farthest)}) lies {rounded(_distance(farthest))} nats from the base's"
        farther = "farther" if exceeds(_distance(farthest), max(seeds, default=0.0)) else "no farther"
        yield Conclusion(f"{lies}, {farther} than another seed's." if seeds else f"{lies}.", floor)
    elif seeds:
        yield Conclusion(f"Attention moves by {rounded(fmean(seeds))} nats when nothing but the seed differs.", floor)


def _guided(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None, model: str) -> Iterator[Conclusion]:
    """The base's attention is of use where it guides better than uniform attention does, by more than chance."""
    found = _accuracies(rows, "E6")
    if not found:
        return
    kept = [_called(name) for name in found if pairs[name].better < 1]
    figures = f"Decided rightly under {', '.join(f'{_called(name)}: {percent(value, 1)}' for name, value in found.items())}"
    tested = "" if of_use is None else f" (the base's against uniform, {of_use.tested})"
    keeps = f"Not shown to be worse than the base itself, {_base(rows)}: {', '.join(kept) or 'none of these'}."
    yield Conclusion(_best(found, of_use, model), f"{figures}{tested}. {keeps}")


def _best(found: Mapping[str, float], of_use: Pairing | None, model: str) -> str:
    if of_use is None:
        return f"What guides {model} best is {_called(max(found, key=lambda name: found[name]))}."
    guides = {1: "guides", 0: "is not shown to guide", -1: "does not guide"}[of_use.better]
    return f"The base's attention {guides} {model} better than uniform attention{' does' if of_use.better == 1 else ''}."


def guides_compared(names: Sequence[str]) -> tuple[str, str] | None:
    """The names of the two controls that say whether a base's attention is of use; None where one of them is missing.

    A tagger that must attend uniformly is what E4 has trained already.
    """
    uniform = next((name for name in (BY_UNIFORM, UNIFORM) if name in names), None)
    return (BY_BASE, uniform) if uniform is not None and BY_BASE in names else None


def _accuracies(rows: Rows, experiment: str) -> dict[str, float]:
    return {row["name"]: row["accuracy"] for row in rows if row["experiment"] == experiment and "accuracy" in row}


def _base(rows: Rows) -> str:
    return percent(rows[0]["accuracy"], 1)


def _distance(row: Mapping[str, Any]) -> float:
    """JSD to the base's attention, of taggers with heads matched."""
    return float(row.get("jsd_matched", row.get("jsd")))


def _seeds(distances: Sequence[float]) -> str:
    ends = dict.fromkeys([rounded(min(distances)), rounded(max(distances))])
    count = f"{len(distances)} other seeds lie" if len(distances) > 1 else "Another seed lies"
    return f"{count} {' to '.join(ends)} nats from the base"


def _called(name: str) -> str:
    """A guide in a sentence."""
    if name.startswith(BY_ADVERSARY):
        return f"the adversary's attention ({_lambda({'name': name})})"
    return "the base's attention" if name == BY_BASE else name.removeprefix(GUIDE)


def _lambda(row: Mapping[str, Any]) -> str:
    return str(row["name"]).rpartition(", ")[2]


Found = Sequence[tuple[str, str, RunFolder]]
"""Experiment, name and folder of each control."""
PER_INSTANCE = ["id", "label", "predicted", "length", "max_attention"]


def write_controls(base: RunFolder, found: Found) -> None:
    """Write ``controls/`` into the base's folder, and print what its page says.

    ``summary.json`` holds ``rows``, one a control, and the summary of every table; ``evidence/E4.parquet``, ``E5.parquet`` and
    ``E6.parquet`` one row an instance: the columns of ``attest.runs.comparison``, each with the name of the control behind a
    slash, and for E5 their means over seeds.

    Args:
        base: the run on trial.
        found: its finished controls.
    """
    compared = {(experiment, name): compare_runs(base, run) for experiment, name, run in found}
    folder = RunFolder(base.path / "controls")
    evidence = {experiment: _joined(experiment, compared) for experiment in sorted({experiment for experiment, _ in compared})}
    for experiment, table in evidence.items():
        folder.write_evidence(experiment, table)
    rows = [{"experiment": "", "name": "the base itself"} | scores_of(base)]
    rows += [_row(experiment, name, run, compared[experiment, name]) for experiment, name, run in found]
    measured = {f"{name}/{key}": value for name, table in evidence.items() for key, value in summarise(table).items()}
    write_json(folder.summary, {"version": 1, "rows": rows} | measured)
    linked = pd.DataFrame(rows).assign(**{REPORT: [run.report for run in (base, *(run for _, _, run in found))]})
    title = f"Controls of {identity_of(base)}"
    figures = _figures(evidence, Findings(base).class_names)
    tables = {"Scores, and distance to the base": linked}
    with folder.claimed():
        said = write_related_runs(folder.report, title, tables, figures, _concluded(base, found, rows))
    print(f"{said}\n\nControls:   {folder.report}", flush=True)


def _concluded(base: RunFolder, found: Found, rows: Sequence[dict[str, Any]]) -> list[Conclusion]:
    """From the decisions on single texts, each run's read once."""
    read = {name: Decided.by(run) for _, name, run in found}
    mine = Decided.by(base)
    compared = guides_compared([*read])
    of_use = None if compared is None else paired(*(read[name] for name in compared))
    return conclusions(rows, {name: paired(mine, theirs) for name, theirs in read.items()}, of_use)


def _row(experiment: str, name: str, run: RunFolder, compared: pd.DataFrame) -> dict[str, Any]:
    means = {column: float(compared[column].mean()) for column in DISTANCES if column in compared}
    return {"experiment": experiment, "name": name} | scores_of(run) | means


def _joined(experiment: str, compared: dict[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The comparisons of one experiment side by side, and of seeds their means."""
    mine = {name: rows for (of, name), rows in compared.items() if of == experiment}
    first = next(iter(mine.values()))
    joined = first[[column for column in PER_INSTANCE if column in first]]
    columns = [column for column in DISTANCES if column in first]
    if experiment == "E5":
        joined = joined.assign(**{column: sum(rows[column] for rows in mine.values()) / len(mine) for column in columns})
    return joined.assign(**{f"{column}/{name}": rows[column] for name, rows in mine.items() for column in columns})


def _figures(tables: dict[str, pd.DataFrame], class_names: Sequence[str]) -> list[Illustration]:
    if "E5" not in tables:
        return []
    return [
        Illustration(
            "E5/jsd_by_max_attention",
            "E5  How far apart are seeds?",
            "JSD between the attention of other seeds and of the base, mean over seeds, by the largest weight of the base "
            "(Wiegreffe & Pinter 2019, Fig. 3). What an adversary gains below this is noise.",
            partial(divergence_violins, tables["E5"], class_names),
        )
    ]
