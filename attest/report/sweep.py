"""The page of a base's adversaries: their table, their curve against the baselines, their knee."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from attest.measures.knee import knee
from attest.report.comparison_figures import divergence_against_distance
from attest.report.illustration import Illustration
from attest.report.related_runs import distances_of, scores_of, write_related_runs
from attest.report.related_table import DISTANCES, REPORT, SCORES
from attest.report.sweep_conclusions import Sweep
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.identity import identity_of


def write_sweep(base: RunFolder, sweep: str, runs: Sequence[RunFolder]) -> None:
    """Write ``adversarial/<sweep>.json`` and ``.html``, and print what the page says.

    Args:
        base: whose adversaries they are.
        sweep: what they have in common, ``unfrozen-kl``.
        runs: the finished adversaries.
    """
    rows = adversaries_of(runs)
    tagging = "nll" in rows
    at = knee(rows[gained(tagging)].to_numpy(), rows[cost(tagging)].to_numpy())
    rows["knee"] = [place == at for place in range(len(rows))]
    shown = baselines(base)
    folder = base.path / "adversarial"
    write_json(folder / f"{sweep}.json", {"adversaries": rows.to_dict("records"), "baselines": shown.to_dict("records")})
    figure = Illustration(
        f"E7/{sweep}",
        "E7  What a different attention costs",
        "One point an adversary, labelled with its λ where there is room: how differently it attends, and how far its "
        "predictions are from the base's (Wiegreffe & Pinter 2019, Fig. 5; Yang 2020, Fig. 1). Seeds (E5) are the noise "
        "floor; ringed: the knee, the point farthest below the chord.",
        partial(divergence_against_distance, rows, shown, cost(tagging), gained(tagging)),
    )
    summaries = [read_json(RunFolder(folder / name).summary) for name in rows["run"]]
    accuracy = read_json(base.summary).get("test/accuracy")
    found = Sweep(rows, summaries, gained(tagging), cost(tagging), _seeds(shown, gained(tagging)), accuracy)
    title = f"Adversaries of {identity_of(base)}: {sweep}"
    linked = rows.assign(**{REPORT: [RunFolder(folder / name).report for name in rows["run"]]}).drop(columns="run")
    tables = {"Adversaries": linked, "Compared with": shown}
    with RunFolder(folder).claimed():
        said = write_related_runs(folder / f"{sweep}.html", title, tables, [figure], found.conclusions())
    print(f"{said}\n\nSweep:      {folder / sweep}.html", flush=True)


def _seeds(shown: pd.DataFrame, column: str) -> list[float]:
    """How far other seeds lie from the base, where that was measured."""
    if column not in shown:
        return []
    return [float(value) for value in shown.loc[shown["experiment"] == "E5", column].dropna()]


def gained(tagging: bool) -> str:
    """What an adversary gains: Yang plots KL, Wiegreffe & Pinter JSD."""
    return "kl" if tagging else "jsd"


def cost(tagging: bool) -> str:
    """What it pays: negative log-likelihood of the base's tags, or total variation distance of the predictions."""
    return "nll" if tagging else "tvd"


def adversaries_of(runs: Sequence[RunFolder]) -> pd.DataFrame:
    """One row an adversary, by λ: ``run``, ``lambda``, test scores, and the means of E7's columns."""
    return pd.DataFrame([_row(run) for run in runs]).sort_values("lambda", ignore_index=True)


def _row(run: RunFolder) -> dict[str, Any]:
    lam = run.settings()["model"]["init_args"]["lam"]
    return {"run": run.path.name, "lambda": lam} | scores_of(run) | distances_of(run, "E7")


def baselines(base: RunFolder) -> pd.DataFrame:
    """What is known of the base without adversaries: E3 from its summary, E4 and E5 from its controls; maybe nothing."""
    rows = []
    known, controls = read_json(base.summary), base.path / "controls" / "summary.json"
    if "E3/jsd_exact/mean" in known:
        means = {name: known[f"E3/{name}_exact/mean"] for name in ("tvd", "jsd")}
        rows.append({"experiment": "E3", "name": "each text its own adversary"} | means)
    if controls.is_file():
        rows += [row for row in read_json(controls)["rows"] if row["experiment"] in ("E4", "E5")]
    found = pd.DataFrame(rows)
    return found[[name for name in ("experiment", "name", *SCORES, *DISTANCES) if name in found]]
