"""The controls of a base in one table: their scores, and how far they are from the base."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from attest.measures import summarise
from attest.report.comparison_figures import divergence_violins
from attest.report.conclusion import Conclusion
from attest.report.controls_conclusions import conclusions, guides_compared
from attest.report.findings import Findings
from attest.report.illustration import Illustration
from attest.report.pairing import Decided, paired
from attest.report.related_runs import scores_of, write_related_runs
from attest.report.related_table import DISTANCES, REPORT
from attest.runs.comparison import compare_runs
from attest.runs.folder import RunFolder, write_json
from attest.runs.identity import identity_of

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
