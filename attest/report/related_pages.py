"""Write the pages about the runs that were trained for one base: its controls, its adversaries and the models of recursive
ROAR.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attest.core.measures import OverSeeds, summarise
from attest.core.measures.numbers import interval, percent, rounded
from attest.core.measures.summary import area_between, knee, racu, share_interval
from attest.experiments.readings.kinds import RANDOM, READINGS
from attest.experiments.registry import EXPERIMENTS
from attest.report.collection import Decided, Pairing, over_seeds, over_texts, paired
from attest.report.controls import Baseline, baseline
from attest.report.evidence_figures import divergence_against_distance, divergence_violins, roar_curves
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.related import (
    COUNTS,
    DISTANCES,
    ENDS,
    REPORT,
    SCORES,
    Conclusion,
    Page,
    distances_of,
    exceeds,
    means_with_intervals,
    plain,
    scores_of,
    spelled_out,
)
from attest.report.summary import summarise_tables
from attest.runs.comparison import compare_runs
from attest.runs.contents import RunContents
from attest.runs.dependent_names import BY_ADVERSARY, BY_BASE, BY_UNIFORM, GUIDE, LAST, UNIFORM
from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.identity import ROAR, identity_of

Rows = Sequence[Mapping[str, Any]]
"""The rows of a table of runs, the base run first: ``experiment``, ``name``, scores, and how far the run is from the base
run."""
MOST = "the largest possible JSD is 0.693"
PER_INSTANCE = ["id", "label", "predicted", "length", "max_attention"]


def write_controls(base: RunFolder, found: Sequence[tuple[str, str, RunFolder]]) -> None:
    """Write a page that compares the control runs with their base run, and print the page as text.

    ``summary.json`` holds ``rows``, one for each control, and the summary of every table. ``evidence/E4.parquet``,
    ``E5.parquet`` and ``E6.parquet`` hold one row for each instance: the columns of ``attest.runs.comparison``, each with a
    slash and the name of the control after it, and for E5 also their means over seeds.
    """
    ours, runs = Findings(base), [(experiment, name, RunContents(run)) for experiment, name, run in found]
    compared: dict[str, dict[str, pd.DataFrame]] = {}
    for experiment, name, run in runs:
        compared.setdefault(experiment, {})[name] = compare_runs(ours, run)
    evidence = {experiment: _side_by_side(experiment, compared[experiment]) for experiment in sorted(compared)}
    folder = RunFolder(base.path / "controls")
    for experiment, table in evidence.items():
        folder.write_evidence(experiment, table)
    rows: list[dict[str, Any]] = [{"experiment": "", "name": "the base itself"} | scores_of(ours)]
    for experiment, name, run in runs:
        columns = compared[experiment][name].filter(DISTANCES)
        means = means_with_intervals(summarise(columns, by=None), "", columns)
        rows.append({"experiment": experiment, "name": name} | scores_of(run) | means)
    write_json(folder.summary, {"version": 1, "rows": rows} | summarise_tables(folder, evidence))

    decided = {name: Decided.by(run) for _, name, run in runs}
    guides = guides_compared(decided)
    of_use = None if guides is None else paired(*(decided[name] for name in guides))
    figure = Illustration(
        "E5/jsd_by_max_attention",
        "E5 (other seeds)  How different is the attention of runs with other seeds?",
        "JSD between the attention of runs with other seeds and of the base run, mean over seeds, by the largest weight of "
        "the base run (Wiegreffe & Pinter 2019, Fig. 3). The JSD of an adversary says little unless it is larger.",
        lambda: divergence_violins(evidence["E5"], ours.class_names),
    )
    figures = [figure] if "E5" in evidence else []
    reports = [run.report for run in (base, *(run for _, _, run in found))]
    tables = {"Scores, and distance to the base": pd.DataFrame(rows).assign(**{REPORT: reports})}
    said = conclusions(rows, {name: paired(Decided.by(ours), theirs) for name, theirs in decided.items()}, of_use)
    _publish(Page(f"Controls of {identity_of(ours)}", tables, figures, spelled_out(said)), folder.report, "Controls")


def _publish(page: Page, path: Path, kind: str) -> None:
    """Write a page into a locked folder, and print the page as text."""
    with RunFolder(path.parent).claimed():
        said = page.write(path)
    print(f"{said}\n\n{kind + ':':<12}{path}", flush=True)


def _side_by_side(experiment: str, compared: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join an experiment's comparisons with the base run into one table; for E5 (other seeds), add means."""
    tables = [*compared.values()]
    joined = tables[0][[column for column in PER_INSTANCE if column in tables[0]]]
    columns = [column for column in DISTANCES if column in tables[0]]
    if experiment == "E5":
        joined = joined.assign(**{column: sum(rows[column] for rows in tables) / len(tables) for column in columns})
    return joined.assign(**{f"{column}/{name}": rows[column] for name, rows in compared.items() for column in columns})


def guides_compared(names: Collection[str]) -> tuple[str, str] | None:
    """Return the names of the two control runs that test the base run's attention; None if one of them is missing."""
    uniform = next((name for name in (BY_UNIFORM, UNIFORM) if name in names), None)
    return (BY_BASE, uniform) if uniform is not None and BY_BASE in names else None


def conclusions(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None) -> list[Conclusion]:
    """Return the conclusions about each kind of control run."""
    tagging = any(pair.tagging for pair in pairs.values())
    base = _rightly(rows[0])
    return [
        *(
            conclusion
            for name in (UNIFORM, LAST)
            for conclusion in _unlearned(name, rows, pairs.get(name), _counted(rows[0], tagging), base)
        ),
        *_moved(rows),
        *_guided(rows, pairs, of_use, "The same tagger" if tagging else "A model that reads each token alone", base),
    ]


def _unlearned(name: str, rows: Rows, pair: Pairing | None, units: str, base: str) -> Iterator[Conclusion]:
    """Yield the conclusion about a control of E4, whose attention is not learned; none if it was not trained."""
    found = _accuracies(rows, "E4")
    if pair is not None and name in found:
        does = {1: "does worse", 0: "is not shown to do worse", -1: "does better"}[pair.better]
        rightly = f"{_rightly(found[name])} of the {units} are decided rightly with {name}"
        figures = f"{rightly}, and {base} with learned attention ({pair.tested})."
        yield Conclusion(f"{name[0].upper()}{name[1:]} {does} than learned attention.", figures)


def _moved(rows: Rows) -> Iterator[Conclusion]:
    of_seeds = [row for row in rows if row["experiment"] == "E5"]
    seeds = [_distance(row) for row in of_seeds]
    adversaries = [row for row in rows if row["name"].startswith(BY_ADVERSARY)]
    floor = f"Measured as JSD; {MOST}. Other seeds were not compared."
    if seeds:
        ends = dict.fromkeys(_told(choose(of_seeds, key=_distance)) for choose in (min, max))
        count = (
            f"The attention of {len(seeds)} runs with other seeds differs from the base run by"
            if len(seeds) > 1
            else "The attention of a run with another seed differs from the base run by"
        )
        floor = f"{count} {' to '.join(ends)} nats of JSD{_over(of_seeds[0])}; {MOST}."
    if adversaries:
        farthest = max(adversaries, key=_distance)
        of_adversary = f"The attention of the adversary ({_lambda(farthest['name'])})"
        differs = f"{of_adversary} differs from the base run by {_told(farthest)} nats"
        more = "more" if exceeds(_distance(farthest), max(seeds, default=0.0)) else "no more"
        yield Conclusion(f"{differs}, {more} than a run with another seed." if seeds else f"{differs}.", floor)
    elif seeds:
        mean = over_seeds(OverSeeds.of(seeds), "E5/jsd")
        changes = f"{_told(of_seeds[0])} nats" if mean is None else f"{mean} nats, mean over {len(seeds)} seeds"
        yield Conclusion(f"If only the seed changes, attention changes by {changes}.", floor)


def _guided(rows: Rows, pairs: Mapping[str, Pairing], of_use: Pairing | None, model: str, base: str) -> Iterator[Conclusion]:
    found = _accuracies(rows, "E6")
    if not found:
        return
    if of_use is None:
        best = f"{model} is most often right with {_called(max(found, key=lambda name: found[name]['accuracy']))}."
    else:
        does = {1: "decides better", 0: "is not shown to decide better", -1: "does not decide better"}[of_use.better]
        best = f"{model} {does} with the attention of the base run than with uniform attention."
    kept = [_called(name) for name in found if pairs[name].better < 1]
    shares = ", ".join(f"{_rightly(row)} with {_called(name)}" for name, row in found.items())
    tested = "" if of_use is None else f" Attention of the base run against uniform attention: {of_use.tested}."
    keeps = f"Not shown to be worse than the base run ({base}): {', '.join(kept) or 'none of these'}."
    yield Conclusion(best, f"Share decided rightly: {shares}.{tested} {keeps}")


def _accuracies(rows: Rows, experiment: str) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in rows if row["experiment"] == experiment and "accuracy" in row}


def _distance(row: Mapping[str, Any]) -> float:
    """Return the JSD between the attention of a run and that of its base run."""
    return float(row.get("jsd_matched", row.get("jsd")))


def _ends(row: Mapping[str, Any], column: str) -> list[float]:
    """Return the ends of a column's interval; empty if the interval is not known."""
    return [row[key] for end in ENDS if not math.isnan(row.get(key := f"{column}/{end}", math.nan))]


def _told(row: Mapping[str, Any]) -> str:
    """Return the distance of attention with its interval: ``0.151 [0.143, 0.159]``."""
    return _column_told(row, "jsd_matched" if "jsd_matched" in row else "jsd")


def _column_told(row: Mapping[str, Any], column: str) -> str:
    low, high = _ends(row, column) or (None, None)
    return interval(row[column], low, high)


def _rightly(row: Mapping[str, Any]) -> str:
    """Return the accuracy with its interval: ``80.0 % [78.1 %, 81.9 %]``."""
    ends = ", ".join(percent(end, 1) for end in _ends(row, "accuracy"))
    return percent(row["accuracy"], 1) + (f" [{ends}]" if ends else "")


def _counted(row: Mapping[str, Any], tagging: bool) -> str:
    if tagging:
        return f"tokens of {row['sentences']:,.0f} test sentences" if "sentences" in row else "tokens"
    return f"{row['texts']:,.0f} test texts" if "texts" in row else "test texts"


def _over(row: Mapping[str, Any]) -> str:
    known = [f"{row[unit]:,.0f} {unit}" for unit in COUNTS if unit in row]
    return f", mean over {known[0]}" if known else ""


def _called(guide: str) -> str:
    if guide.startswith(BY_ADVERSARY):
        return f"the attention of the adversary ({_lambda(guide)})"
    return "the attention of the base run" if guide == BY_BASE else guide.removeprefix(GUIDE)


def _lambda(name: str) -> str:
    return name.rpartition(", ")[2]


def write_sweep(base: RunFolder, sweep: str, runs: Sequence[RunFolder]) -> None:
    """Write the results for a sweep of adversaries as JSON and as a page, and print the page as text."""
    ours, by_name = RunContents(base), {run.path.name: RunContents(run) for run in runs}
    adversaries = [
        {"run": name, "lambda": run.settings["model"]["init_args"]["lam"]} | scores_of(run) | distances_of(run)
        for name, run in by_name.items()
    ]
    rows = pd.DataFrame(adversaries).sort_values("lambda", ignore_index=True)
    tagging = "nll" in rows  # Yang plots KL against the NLL of the base's tags; Wiegreffe & Pinter plot JSD against TVD
    gained, cost = ("kl", "nll") if tagging else ("jsd", "tvd")
    at = knee(rows[gained].to_numpy(), rows[cost].to_numpy())
    rows["knee"] = [place == at for place in range(len(rows))]
    shown, folder = _baselines(ours), base.path / "adversarial"
    write_json(folder / f"{sweep}.json", {"adversaries": rows.to_dict("records"), "baselines": shown.to_dict("records")})
    figure = Illustration(
        f"E7/{sweep}",
        "E7 (trained adversaries)  What a different attention costs",
        "Each point is an adversary: the distance of its attention and of its predictions from the base run (Wiegreffe & "
        "Pinter 2019, Fig. 5; Yang 2020, Fig. 1). Points are labelled with λ if there is room. The line is the farthest that "
        f"attention moved at this distance of predictions or a smaller one.{_also_drawn(rows, shown)}",
        partial(divergence_against_distance, rows, shown, cost, gained),
    )
    found = [by_name[name] for name in rows["run"]]
    of_seeds = shown[shown["experiment"] == "E5"].dropna(subset=gained) if gained in shown else shown[:0]
    seeds = of_seeds[gained].astype(float).tolist() if len(of_seeds) else []
    farthest = _column_told(of_seeds.loc[of_seeds[gained].idxmax()].to_dict(), gained) if seeds else ""
    held = [baseline(run) for run in (ours, *found)]
    said = sweep_conclusions(rows, [run.summary for run in found], gained, cost, seeds, farthest, held)
    tables = {
        "Adversaries": rows.assign(**{REPORT: [run.folder.report for run in found]}).drop(columns="run"),
        "Compared with": shown,
    }
    page = Page(f"Adversaries {sweep} of {identity_of(ours)}", tables, [figure], spelled_out(said), LARGER)
    _publish(page, folder / f"{sweep}.html", "Sweep")


def _also_drawn(rows: pd.DataFrame, shown: pd.DataFrame) -> str:
    """Return sentences about the runs with other seeds and about the knee, where there are any."""
    seeds = "experiment" in shown and (shown["experiment"] == "E5").any()
    others = " Compare with E5, the runs that have other seeds." if seeds else ""
    ringed = " Ringed: the knee, the point farthest below the chord from the smallest to the largest distance of attention."
    return others + (ringed if rows["knee"].any() else "")


def _baselines(base: RunContents) -> pd.DataFrame:
    rows = []
    known, controls = base.summary, base.folder.path / "controls" / "summary.json"
    if "E3/jsd_exact/mean" in known:
        means = {
            name.replace("_exact", ""): value
            for name, value in means_with_intervals(known, "E3/", ("tvd_exact", "jsd_exact")).items()
        }
        row = {"experiment": "E3", "name": "attention alone changed, in each text"} | means
        if (table := base.table("E3")) is not None:
            row["texts"] = int(table["jsd_exact"].notna().sum())
        rows.append(row)
    if controls.is_file():
        rows += [row for row in read_json(controls)["rows"] if row["experiment"] in ("E4", "E5")]
    found = pd.DataFrame(rows)
    named = ("experiment", "name", *SCORES, *DISTANCES, *COUNTS)
    return found[[column for name in named for column in (name, *(f"{name}/{end}" for end in ENDS)) if column in found]]


LARGER = "The larger λ is, the more an adversary is trained to attend differently, and the less to predict the same."
FARTHER = {1: "moves away from", 0: "moves no farther from", -1: "comes nearer to"}
"""Words for how a distance to the base run changes as λ grows: the confidence interval at the largest λ lies above that at the
smallest (1), overlaps it (0), or lies below it (-1)."""


def sweep_conclusions(
    rows: pd.DataFrame,
    summaries: Sequence[Mapping[str, Any]],
    gained: str,
    cost: str,
    seeds: Sequence[float] = (),
    farthest: str = "",
    held: Sequence[Baseline | None] = (),
) -> list[Conclusion]:
    """Return conclusions on how far a base run's adversaries move its attention and its predictions.

    Args:
        rows: one row for each adversary: ``lambda``, ``knee`` (whether the curve bends most here), and the columns named by
            ``gained`` (distance of attention) and ``cost`` (distance of predictions).
        seeds: the distance of attention for each run with another seed.
        farthest: the largest of them with its interval, in words.
        held: the accuracies of the base run and then of each adversary; they are left out if one of them is not known.
    """
    lambdas = [plain(each) for each in rows["lambda"]]
    (attention, moves), (predictions, pays) = (
        _along_sweep(rows, summaries, column, of) for column, of in ((gained, "attention"), (cost, "predictions"))
    )
    pay = FARTHER[pays].replace("moves", "move").replace("comes", "come")
    grows = f"As λ grows from {lambdas[0]} to {lambdas[-1]}"
    moved = f"{grows}, the attention of the adversaries {FARTHER[moves]} that of the base run."
    found = [
        *_stays(rows, summaries, gained, cost),
        Conclusion(moved, f"{attention}."),
        Conclusion(
            f"The predictions of the adversaries {pay} those of the base run.", f"{predictions}.{_decided_rightly(held)}"
        ),
    ]
    if seeds:
        beyond = [exceeds(value, max(seeds)) for value in rows[gained]]
        if all(beyond):
            where = "at every λ"
        elif beyond == sorted(beyond) and any(beyond):
            where = f"from λ = {lambdas[beyond.index(True)]} on"
        else:
            where = f"at λ = {', '.join(compress(lambdas, beyond))}"
        beyond_all = f"farther from the base run than the attention of any run with another seed, {where}"
        farther = beyond_all if any(beyond) else "no farther from the base run than the attention of a run with another seed"
        most = f"{gained.upper()} {farthest or rounded(max(seeds))}{_unit(gained)}"
        whose = f"of {len(seeds)} runs with other seeds" if len(seeds) > 1 else "of the run with another seed"
        differs = f"The attention {whose} differs from the base run by at most {most}."
        found.append(Conclusion(f"The attention of the adversaries is {farther}.", differs))
    if not rows["knee"].any():
        return [*found, Conclusion("No λ stands out.", f"The curve of {cost.upper()} against {gained.upper()} has no knee.")]
    at = rows[rows["knee"]].iloc[0]
    summary = summaries[rows["knee"].tolist().index(True)]
    stands = (
        f"At this λ, the attention of the adversary differs from that of the base run by {_with_unit(summary, gained, at)}, "
        f"and its predictions differ by {_with_unit(summary, cost, at)}."
    )
    curve = f"The curve of {cost.upper()} against {gained.upper()} bends most at λ = {plain(at['lambda'])}."
    return [*found, Conclusion(curve, stands)]


def _stays(rows: pd.DataFrame, summaries: Sequence[Mapping[str, Any]], gained: str, cost: str) -> Iterator[Conclusion]:
    """Yield up to which λ predictions stay as near to the base run's as at the smallest λ: their intervals overlap."""
    paid, moved = ([over_texts(summary, f"E7/{column}") for summary in summaries] for column in (cost, gained))
    known = [each for each in paid if each is not None]
    if len(known) < len(summaries) or None in moved:
        return
    farther = [each.apart(known[0]) > 0 for each in known]
    last = farther.index(True) - 1 if any(farther) else len(known) - 1
    lambdas = [plain(each) for each in rows["lambda"]]
    near = "the predictions of the adversaries stay as near to those of the base run as at the smallest λ"
    where = f"Up to λ = {lambdas[last]}" if any(farther) else "At every λ"
    found = f"At λ = {lambdas[last]}, {cost.upper()} of predictions is {known[last]}{_unit(cost)}"
    reached = f"{gained.upper()} of attention is {moved[last]}{_unit(gained)}"
    beyond = f"; at λ = {lambdas[last + 1]}, {cost.upper()} is {known[last + 1]}{_unit(cost)}" if any(farther) else ""
    yield Conclusion(f"{where}, {near}.", f"{found}, and {reached}{beyond}{_over(rows.iloc[0].to_dict())}.")


def _decided_rightly(held: Sequence[Baseline | None]) -> str:
    """Return a sentence with the accuracy of the worst and of the best adversary and of the base run, which comes first."""
    known = [each for each in held if each is not None]
    if not known or len(known) < len(held):
        return ""
    base, *adversaries = known
    worst, best = (choose(adversaries, key=lambda each: each.majority.accuracy) for choose in (min, max))
    return (
        f" Of {base.of} the adversaries decide {worst.accuracy} to {best.accuracy} rightly, and the base run {base.accuracy}."
    )


def _along_sweep(rows: pd.DataFrame, summaries: Sequence[Mapping[str, Any]], column: str, of: str) -> tuple[str, int]:
    """Return how a distance to the base run changes as λ grows: a phrase, and the sign (0 if intervals overlap)."""
    measured = f"{column.upper()} of {of} against the base run"
    found = [each for summary in summaries if (each := over_texts(summary, f"E7/{column}")) is not None]
    if len(found) < len(summaries):
        first, last = rows[column].iloc[[0, -1]]
        return f"{measured} changes from {rounded(first)} to {rounded(last)}{_unit(column)}", 0
    said = f"{measured} changes from {found[0]} to {found[-1]}{_unit(column)}"
    between = max(found)
    if between.apart(found[0]) and between.apart(found[-1]) and exceeds(between.mean, found[-1].mean):
        said = f"{said}; in between it reaches {between} at λ = {plain(rows['lambda'].iloc[found.index(between)])}"
    return said, found[-1].apart(found[0])


def _with_unit(summary: Mapping[str, Any], column: str, row: pd.Series) -> str:
    known = over_texts(summary, f"E7/{column}")
    return f"{column.upper()} {rounded(row[column]) if known is None else known}{_unit(column)}"


def _unit(column: str) -> str:
    described = EXPERIMENTS["E7"].column(column)
    return f" {described.unit}" if described is not None and described.unit else ""


def write_roar(base: RunFolder, curves: Mapping[str, Sequence[tuple[float, RunFolder]]]) -> None:
    """Write the results of ROAR as JSON and as a page into ``roar/`` of the base run, and print them as text.

    Args:
        curves: for each reading and for ``random``, the erased share and the finished run of each point, at equal shares.
    """
    ours, folder = RunContents(base), RunFolder(base.path / ROAR)
    shares = [share for share, _ in curves[RANDOM]]
    scores = {name: [read_json(run.summary)["test/accuracy"] for _, run in curve] for name, curve in curves.items()}
    gains = {
        name: {"area": area_between(shares, scores[RANDOM], values), "RACU": racu(shares, scores[RANDOM], values)}
        for name, values in scores.items()
        if name != RANDOM
    }
    measured = {f"{name}/{share:g}": value for name in scores for share, value in zip(shares, scores[name], strict=True)}
    measured |= {f"{name}/{key}": value for name, gain in gains.items() for key, value in gain.items()}
    write_json(folder.summary, {"version": 1} | measured)
    titled = {READINGS[name].title: values for name, values in scores.items()}
    areas = pd.DataFrame([{"reading": READINGS[name].title} | gain for name, gain in gains.items()])
    figure = Illustration(
        "roar/curves",
        "Accuracy of models trained on texts without the tokens ranked first",
        "After each step a new model is trained, and an explanation of this model ranks the tokens that are erased next "
        "(Madsen et al. 2022). If the explanation finds important tokens, accuracy falls faster than with random erasure. "
        "RACU is the area between the two curves, divided by the largest possible area. Every point is another model, so the "
        "figure judges explanations on this task, not one model.",
        partial(roar_curves, shares, titled, READINGS[RANDOM].title),
    )
    tables = {"Gain on random": areas, "Accuracy": _accuracies_by_share(ours, shares, titled)}
    best = areas.loc[areas["area"].idxmax()]
    who = best["reading"] if exceeds(best["area"], 0.0) else "No explanation"
    most = Conclusion(
        f"{who} makes accuracy fall faster than random erasure does.",
        f"The largest area between random erasure and an explanation is {rounded(best['area'])} ({best['reading']}). "
        "Each point is one model, so the area is not tested against models with other seeds; areas and RACU have no interval.",
    )
    page = Page(f"Recursive ROAR of {identity_of(ours)}", tables, [figure], [most])
    _publish(page, folder.report, "ROAR")


def _accuracies_by_share(base: RunContents, shares: Sequence[float], titled: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return a row for each share, with the accuracy of each reading's model; with intervals if the base has kept its texts.

    All models are tested on as many texts as the base.
    """
    rows, held = pd.DataFrame({"share erased": shares, **titled}), baseline(base)
    if held is None:
        return rows
    for title, values in titled.items():
        right = (np.arange(held.instances) < round(value * held.instances) for value in values)
        rows[[f"{title}/{end}" for end in ENDS]] = [share_interval(each) for each in right]
    return rows.assign(texts=held.instances)
