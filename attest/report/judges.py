"""The judges on trial, as Markdown and as a page: which test sees which wrong attention, and whom it falsely accuses."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.experiments.judges.judging import CALIBRATIONS, over_rules, smallest_sets
from attest.report.figures import Illustration, save_png
from attest.report.related import Page
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_atomically, write_table, write_text

TITLE = "The judges on trial"
CAPTION = (
    "AUROC of telling a defendant's texts from those of defendants that are right, in the rule that is worst for the test. "
    "Left: attention that is wrong, where 1 is best, 0.5 blind and less misleading. Right: attention that is right, where 0.5 "
    "is best and 1 a false accusation. Empty: the defendant is not wrong, or not right, in what the test speaks of."
)
TRAINED = "[The same tests before trained networks](judges-trained.md)."
LIMITS = (
    "The networks are small and set by hand; trained ones may differ.",
    "The mix of defendants is ours: no average over them means anything, and none is given.",
    "A test that sees all of them may miss others. Of two that we thought of later shuffling misses one: see evidence.md.",
    "Differences of up to 1e-6 tie, as rounding does. Small true ones do too, such as those between divergences near 0.",
    "A decoy is the first word that the rule does not read. Trained networks may hide decisions elsewhere.",
    "A text on which a test is undefined counts as a tie. That was decided after a first run had shown how often it happens.",
    "A right defendant is held against other right ones: an AUROC of 1 there may be a small, steady difference.",
    "Intervals are over texts alone. They say nothing of other networks or rules.",
    "Transformers are tried on fewer texts, and the search in their layers is shorter than the published one.",
)


def heat_map(judged: pd.DataFrame) -> Figure:
    """Tests by defendants, wrong ones beside right ones, at each test's worst rule."""
    panels = [_matrix(judged, "wrong", "least"), _matrix(judged, "right", "most")]
    tests = list(dict.fromkeys(judged.test))
    widths = [max(1, panel.shape[1]) for panel in panels]
    figure = Figure(figsize=(3 + 0.62 * sum(widths), 1.6 + 0.3 * len(tests)), layout="constrained")
    for axes, panel, title in zip(
        figure.subplots(1, 2, sharey=True, width_ratios=widths),
        panels,
        ("attention is wrong", "attention is right"),
        strict=True,
    ):
        values = panel.reindex(tests)
        shown = axes.imshow(values, vmin=0, vmax=1, cmap="RdBu", aspect="auto")
        axes.set_title(title, fontsize=9)
        axes.set_xticks(range(values.shape[1]), values.columns, rotation=60, ha="right", fontsize=8)
        axes.set_yticks(range(len(tests)), tests, fontsize=8)
        for (row, column), value in np.ndenumerate(values.to_numpy(dtype=float)):
            if not np.isnan(value):
                colour = "white" if abs(value - 0.5) > 0.35 else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    figure.colorbar(shown, ax=figure.axes, shrink=0.6, label="AUROC")
    return figure


def _matrix(judged: pd.DataFrame, truth: str, column: str) -> pd.DataFrame:
    cells = over_rules(judged, truth)
    if truth == "right":  # among right ones the mass differs by hundredths, which an oracle ranks and nobody should read
        cells = cells[~cells.test.isin(CALIBRATIONS)]
    cells = cells.assign(defendant=np.where(cells.family == "layered", cells.defendant + " (layers)", cells.defendant))
    return cells.pivot_table(index="test", columns="defendant", values=column, sort=False)


def write_judges(folder: Path, judged: pd.DataFrame, stated: Mapping[str, Any], stamp: str) -> str:
    """Write ``judges.parquet``, ``judges.png``, ``judges.html`` and ``judges.md`` into a folder.

    Args:
        folder: is made where it is missing.
        judged: as ``attest.experiments.judges.judging.judge`` returns it.
        stated: the configuration.
        stamp: which stated configuration this is.
    Returns:
        The paragraph in plain words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "judges.parquet", judged)
    drawing = heat_map(judged)
    write_atomically(folder / "judges.png", partial(save_png, drawing))
    tables, words = _tables(judged), in_words(judged, stated["sees"])
    notes = pd.DataFrame({"read this first": [words, stamp, *LIMITS]})
    figure = Illustration("judges/heat_map", "Which test sees which attention", CAPTION, lambda: drawing)
    Page(TITLE, {"In short": notes} | tables, [figure]).write(folder / "judges.html")
    trained = TRAINED if (folder / "judges-trained.md").is_file() else ""
    write_text(folder / "judges.md", _markdown(tables, words, " ".join([stamp, trained]).strip()))
    return words


def in_words(judged: pd.DataFrame, sees: float) -> str:
    """What this means for somebody who wants to show attention to users, from the numbers alone."""
    sentences = []
    for of in ("tokens", "states"):
        mine = judged[(judged.family == "pooled") & (judged.of == of) & ~judged.test.isin(CALIBRATIONS)]
        wrong, right = over_rules(mine, "wrong"), over_rules(mine, "right")
        sound = [test for test, cells in wrong.groupby("test", sort=False) if (cells.least >= sees).all()]
        accused = set(right[right.most >= sees].test)
        trusted = [test for test in sound if test not in accused]
        sets, unseen = smallest_sets(judged, sees, "pooled", of)
        tried = [*dict.fromkeys(wrong.defendant)]
        if not tried:
            continue
        sees_all = "each see" if len(sound) > 1 else "alone sees"
        of_the_list = f"all {len(tried)} wrong attentions of our list ({listed(tried)})"
        sentences.append(f"About {of}: {listed(sound) or 'no test'} {sees_all} {of_the_list} on every rule.")
        if sound:
            spared = f"Without accusing a right one: {listed(trusted)}." if trusted else "Each also accuses a right one."
            sentences.append(spared)
        sentences += _smallest(sets)
        if unseen:
            sentences.append(f"No test sees {listed(unseen)}.")
        misled = wrong[wrong.least < 0.5]
        if len(misled):
            pairs = [
                f"{row.test} by {row.defendant}" for row in misled.sort_values("least", kind="stable").head(3).itertuples()
            ]
            sentences.append(f"Most misled: {listed(pairs)}.")
    advice = (
        "Before attention is shown to users, run a set that sees all, and read a single test only for what it can see. "
        "A wrong attention that is not on the list may escape them all."
    )
    return " ".join([*sentences, advice])


def _smallest(sets: list[tuple[str, ...]]) -> list[str]:
    if not sets:
        return []
    size, named = len(sets[0]), "; ".join(listed([*tests]) for tests in sets)
    if len(sets) == 1:
        return [f"The smallest set that sees all of them that any test sees has {size}: {named}."]
    return [f"{len(sets)} smallest sets see all of them that any test sees, with {size} each: {named}."]


def listed(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""


def _tables(judged: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        "Wrong attention, at the worst rule": _cells(judged, "wrong"),
        "Right attention, at the worst rule": _cells(judged, "right"),
        "Every rule: wrong": _every_rule(judged, "wrong"),
        "Mixed attention: τ-b between suspicion and 1 − mass": _taus(judged),
        "Undefined texts and cost": _cost(judged),
    }


def _cells(judged: pd.DataFrame, truth: str) -> pd.DataFrame:
    cells = over_rules(judged, truth)
    cells = cells if truth == "wrong" else cells[~cells.test.isin(CALIBRATIONS)]
    rows = [
        {"test": row.test, "of": row.of, "family": row.family, "defendant": row.defendant, "worst rule": row.rule}
        | {"AUROC": f"{row.auroc:.2f}", "interval": f"{row.low:.2f} to {row.high:.2f}", "undefined": f"{row.undefined:.0%}"}
        for row in cells.itertuples()
    ]
    return pd.DataFrame(rows)


def _every_rule(judged: pd.DataFrame, truth: str) -> pd.DataFrame:
    cells = judged[(judged.truth == truth) & judged.auroc.notna()]
    text = cells.assign(cell=[f"{row.auroc:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in cells.itertuples()])
    table = text.pivot_table(index=["family", "test", "defendant"], columns="rule", values="cell", aggfunc="first", sort=False)
    return table.fillna("").reset_index()


def _taus(judged: pd.DataFrame) -> pd.DataFrame:
    mixed = judged[(judged.truth == "mixed") & judged.tau.notna()]
    return mixed[["test", "family", "rule", "defendant", "mass", "tau"]].reset_index(drop=True)


def _cost(judged: pd.DataFrame) -> pd.DataFrame:
    grouped = judged.groupby(["family", "test"], sort=False)
    return grouped.agg(undefined=("undefined", "mean"), milliseconds=("milliseconds", "median")).reset_index()


def _markdown(tables: Mapping[str, pd.DataFrame], words: str, stamp: str) -> str:
    parts = [f"# {TITLE}", words, stamp, "![Which test sees which attention](judges.png)", CAPTION]
    for name, rows in tables.items():
        parts += [f"## {name}", frame_as_markdown(rows)]
    parts += ["## Limits", "\n".join(f"* {limit}" for limit in LIMITS)]
    return "\n\n".join(parts) + "\n"


def frame_as_markdown(rows: pd.DataFrame) -> str:
    """Return a table in Markdown; numbers with three digits."""
    cells = ([f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows.itertuples(index=False))
    return markdown_table([[*rows.columns], *cells])
