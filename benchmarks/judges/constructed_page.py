"""Write the trial of the judges as Markdown and as a page: which tests detect which wrong attention, and which accuse right
attention.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from attest.judges.judging import CALIBRATIONS
from attest.report.figures import Illustration, save_png
from attest.report.related import Page
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_atomically, write_table, write_text
from benchmarks.judges.found import over_rules, smallest_sets


@dataclass(frozen=True)
class JudgesPages:
    """The wording of the pages of a trial of the judges."""

    name: str
    title: str
    seen: str
    caption: str
    limits: tuple[str, ...]

    def write(
        self,
        folder: Path,
        drawing: Figure,
        tables: Mapping[str, pd.DataFrame],
        words: str,
        stamp: str,
        short: Mapping[str, pd.DataFrame] | None = None,
    ) -> None:
        """Write the page of this trial into a folder as ``<name>.png``, ``<name>.html`` and ``<name>.md``.

        Args:
            short: the tables of the Markdown page, where all ``tables`` would be too long for it.
        """
        write_atomically(folder / f"{self.name}.png", partial(save_png, drawing))
        notes = pd.DataFrame({"read this first": [words, stamp, *self.limits]})
        figure = Illustration(f"judges/{self.name}", self.seen, self.caption, lambda: drawing)
        shown = tables if short is None else short
        Page(self.title, {"In short": notes} | {**tables}, [figure]).write(folder / f"{self.name}.html")
        link = TRAINED_TOO if self is CONSTRUCTED and (folder / TRAINED).is_file() else ""
        parts = [f"# {self.title}", words, f"{stamp} {link}".strip(), f"![{self.seen}]({self.name}.png)", self.caption]
        for name, rows in shown.items():
            cells = rows.map(lambda cell: f"{cell:.3g}" if isinstance(cell, float) else str(cell))
            parts += [f"## {name}", markdown_table([[*rows.columns], *cells.to_numpy().tolist()])]
        parts += ["## Limits", "\n".join(f"* {limit}" for limit in self.limits)]
        write_text(folder / f"{self.name}.md", "\n\n".join(parts) + "\n")


CONSTRUCTED = JudgesPages(
    "judges",
    "The judges on trial",
    "Which test sees which attention",
    "AUROC of telling a defendant's texts from those of defendants that are right, in the rule that is worst for the "
    "test. Left: attention that is wrong, where 1 is best, 0.5 blind and less misleading. Right: attention that is right, "
    "where 0.5 is best and 1 a false accusation. Empty: the defendant is not wrong, or not right, in what the test speaks "
    "of.",
    (
        "The networks are small and set by hand; trained ones may differ.",
        "The mix of defendants is ours: no average over them means anything, and none is given.",
        "A test that sees all of them may miss others. E2 shuffling saw all of an earlier list: see Withdrawn in evidence.md.",
        "Differences of up to 1e-6 tie, as rounding does. Small true ones do too, such as those between divergences near 0.",
        "A decoy is a certain word that the rule does not read. Trained networks may hide decisions elsewhere.",
        "A text on which a test is undefined counts as a tie. That was decided after a first run had shown how often it "
        "happens.",
        "A right defendant is held against other right ones: an AUROC of 1 there may be a small, steady difference.",
        "Intervals are over texts alone. They say nothing of other networks or rules.",
        "Transformers are tried on fewer texts, and the search in their layers is shorter than the published one.",
    ),
)
TRAINED = "judges-trained.md"
TRAINED_TOO = f"[The same tests before trained networks]({TRAINED})."


def write_judges(folder: Path, judged: pd.DataFrame, stated: Mapping[str, Any], stamp: str) -> str:
    """Write ``judges.parquet``, ``judges.png``, ``judges.html`` and ``judges.md`` into a folder, and return the conclusion."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "judges.parquet", judged)
    mixed = judged[(judged.truth == "mixed") & judged.tau.notna()]
    mixed = mixed.pivot_table("tau", ["family", "test"], "defendant", aggfunc="min", sort=False)
    cost = judged.groupby(["family", "test"], sort=False)
    wrong = judged[(judged.truth == "wrong") & judged.auroc.notna()]
    wrong = wrong.assign(cell=[f"{row.auroc:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in wrong.itertuples()])
    of = ["family", "test", "defendant"]
    by_rule = wrong.pivot_table(index=of, columns="rule", values="cell", aggfunc="first", sort=False)
    tables = {
        "Wrong attention, at the worst rule": _cells(judged, "wrong"),
        "Right attention, at the worst rule": _cells(judged, "right"),
        "Every rule: wrong": by_rule.fillna("").reset_index(),
        "Attention that is right in part: τ-b between suspicion and 1 − mass, at the worst rule": mixed.map(
            lambda value: "" if np.isnan(value) else f"{value:.2f}"
        ).reset_index(),
        "Undefined texts and cost": cost.agg(
            undefined=("undefined", "mean"), milliseconds=("milliseconds", "median")
        ).reset_index(),
    }
    words = in_words(judged, stated["sees"])
    stamp += " Every number is in judges.parquet; the command `make judges` writes all tables as a page, judges.html."
    CONSTRUCTED.write(folder, heat_map(judged), tables, words, stamp, {"Each test": _each_test(judged, stated["sees"])})
    return words


def _each_test(judged: pd.DataFrame, sees: float) -> pd.DataFrame:
    """Count what each test sees of the pooled defendants, and how many right ones it accuses."""
    mine = judged[(judged.family == "pooled") & ~judged.test.isin(CALIBRATIONS)]
    wrong, right = over_rules(mine, "wrong"), over_rules(mine, "right")
    rows = []
    for (test, of), cells in mine[(mine.truth == "wrong") & mine.auroc.notna()].groupby(["test", "of"], sort=False):
        seen, held = wrong[wrong.test == test].least >= sees, right[right.test == test].most >= sees
        rows.append(
            {
                "test": test,
                "of": of,
                "wrong attention seen under every rule": f"{seen.sum()} of {len(seen)}",
                "pairs of attention and rule seen": f"{(cells.auroc >= sees).sum()} of {len(cells)}",
                "right attention accused": f"{held.sum()} of {len(held)}",
                "undefined texts": f"{cells.undefined.mean():.0%}",
                "ms a text": f"{cells.milliseconds.median():.2g}",
            }
        )
    return pd.DataFrame(rows)


def heat_map(judged: pd.DataFrame) -> Figure:
    """Draw the AUROC of each test at its worst rule, one column for each network with wrong or right attention."""
    panels = [_matrix(judged, "wrong", "least"), _matrix(judged, "right", "most")]
    tests = list(dict.fromkeys(judged.test))
    widths = [max(1, panel.shape[1]) for panel in panels]
    figure = Figure(figsize=(3 + 0.62 * sum(widths), 1.6 + 0.3 * len(tests)), layout="constrained")
    grid = figure.subplots(1, 2, sharey=True, width_ratios=widths)
    for axes, panel, title in zip(grid, panels, ("attention is wrong", "attention is right"), strict=True):
        shown = draw_heat(axes, panel.reindex(tests), title, 0, 1)
    figure.colorbar(shown, ax=figure.axes, shrink=0.6, label="AUROC")
    return figure


def draw_heat(axes: Axes, values: pd.DataFrame, title: str, low: float, high: float) -> AxesImage:
    """Draw a coloured square with its number for each test (row) and network (column)."""
    numbers, middle = values.to_numpy(dtype=float), (low + high) / 2
    shown = axes.imshow(numbers, vmin=low, vmax=high, cmap="RdBu", aspect="auto")
    axes.set_title(title, fontsize=9)
    axes.set_xticks(range(values.shape[1]), values.columns, rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(len(values)), values.index, fontsize=8)
    for (row, column), value in np.ndenumerate(numbers):
        if not np.isnan(value):
            colour = "white" if abs(value - middle) > 0.7 * (high - middle) else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    return shown


def _matrix(judged: pd.DataFrame, truth: str, column: str) -> pd.DataFrame:
    cells = over_rules(judged, truth)
    if truth == "right":  # the masses of right attentions differ only by hundredths, so the oracle's rank means nothing
        cells = cells[~cells.test.isin(CALIBRATIONS)]
    cells = cells.assign(defendant=np.where(cells.family == "layered", cells.defendant + " (layers)", cells.defendant))
    return cells.pivot_table(index="test", columns="defendant", values=column, sort=False)


def in_words(judged: pd.DataFrame, sees: float) -> str:
    """Say which tests detect wrong attention and which accuse right attention, in sentences made from the numbers alone."""
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
        if sets:
            named, sees_them = "; ".join(listed(tests) for tests in sets), "see all of them that any test sees"
            sentences.append(
                f"The smallest set that {sees_them.replace('see', 'sees', 1)} has {len(sets[0])}: {named}."
                if len(sets) == 1
                else f"{len(sets)} smallest sets {sees_them}, with {len(sets[0])} each: {named}."
            )
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


def listed(names: Sequence[str]) -> str:
    """Return the names as a list in a sentence: ``a, b and c``."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""


def _cells(judged: pd.DataFrame, truth: str) -> pd.DataFrame:
    cells = over_rules(judged, truth)
    cells = cells if truth == "wrong" else cells[~cells.test.isin(CALIBRATIONS)]
    rows = [
        {"test": row.test, "of": row.of, "family": row.family, "defendant": row.defendant, "worst rule": row.rule}
        | {"AUROC": f"{row.auroc:.2f}", "interval": f"{row.low:.2f} to {row.high:.2f}", "undefined": f"{row.undefined:.0%}"}
        for row in cells.itertuples()
    ]
    return pd.DataFrame(rows)
