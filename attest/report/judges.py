"""Write the trial of the judges as Markdown and as a page: which tests detect which wrong attention, and which accuse right
attention; first on constructed networks, then on trained ones.
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

from attest.experiments.judges.judging import CALIBRATIONS, over_rules, smallest_sets
from attest.experiments.judges.trained import (
    DECOY,
    FREE,
    MODEL,
    SETTING,
    TRUTH,
    Trained,
    agreement,
    before_constructed,
    means,
    models,
    pairs,
)
from attest.report.figures import Illustration, save_png
from attest.report.related import Page
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_atomically, write_table, write_text


@dataclass(frozen=True)
class JudgesPages:
    """The wording of the pages of a trial of the judges."""

    name: str
    title: str
    seen: str
    caption: str
    limits: tuple[str, ...]

    def write(self, folder: Path, drawing: Figure, tables: Mapping[str, pd.DataFrame], words: str, stamp: str) -> None:
        """Write the page of this trial into a folder as ``<name>.png``, ``<name>.html`` and ``<name>.md``."""
        write_atomically(folder / f"{self.name}.png", partial(save_png, drawing))
        notes = pd.DataFrame({"read this first": [words, stamp, *self.limits]})
        figure = Illustration(f"judges/{self.name}", self.seen, self.caption, lambda: drawing)
        Page(self.title, {"In short": notes} | {**tables}, [figure]).write(folder / f"{self.name}.html")
        link = TRAINED_TOO if self is CONSTRUCTED and (folder / f"{TRAINED.name}.md").is_file() else ""
        parts = [f"# {self.title}", words, f"{stamp} {link}".strip(), f"![{self.seen}]({self.name}.png)", self.caption]
        for name, rows in tables.items():
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
TRAINED = JudgesPages(
    "judges-trained",
    "The judges before trained networks",
    "Which test sees which trained attention",
    "Left: AUROC of telling the texts of a network whose attention was guided to a decoy from those of its twin, guided "
    "to the deciding words; 1 is best, 0.5 blind and less misleading. Right: τ-b between suspicion and 1 − mass on the "
    "deciding words over the texts of a network that nobody guided; 1 is best. Means over models. Empty: no pair, or "
    "nothing is said.",
    (
        "Texts, words and networks are small; the rules are two.",
        "On states only networks without context (average) are judged: elsewhere nobody knows which states carry the "
        "decision.",
        "A decoy is the first word that the rule does not read, at any place in the text.",
        "Guided attention is more extreme than what training finds alone.",
        "Intervals draw settings (network, projection and rule) again, each with all its seeds. Settings are few, so "
        "intervals are rough; of one setting there is none.",
        "A ranking of tests needs a mean over defendants, whose mix is ours. It compares two rankings and serves nothing "
        "else.",
    ),
)
TRAINED_TOO = f"[The same tests before trained networks]({TRAINED.name}.md)."


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
    CONSTRUCTED.write(folder, heat_map(judged), tables, words, stamp)
    return words


def heat_map(judged: pd.DataFrame) -> Figure:
    """Draw the AUROC of each test at its worst rule, one column for each network with wrong or right attention."""
    panels = [_matrix(judged, "wrong", "least"), _matrix(judged, "right", "most")]
    tests = list(dict.fromkeys(judged.test))
    widths = [max(1, panel.shape[1]) for panel in panels]
    figure = Figure(figsize=(3 + 0.62 * sum(widths), 1.6 + 0.3 * len(tests)), layout="constrained")
    grid = figure.subplots(1, 2, sharey=True, width_ratios=widths)
    for axes, panel, title in zip(grid, panels, ("attention is wrong", "attention is right"), strict=True):
        shown = _draw_heat(axes, panel.reindex(tests), title, 0, 1)
    figure.colorbar(shown, ax=figure.axes, shrink=0.6, label="AUROC")
    return figure


def _draw_heat(axes: Axes, values: pd.DataFrame, title: str, low: float, high: float) -> AxesImage:
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


def write_trained(
    folder: Path,
    trained: Sequence[Trained],
    judged: pd.DataFrame,
    stated: Mapping[str, Any],
    tests: Mapping[str, Any],
    stamp: str,
) -> str:
    """Write the results on trained networks: ``judges-trained.md``, ``.html``, ``.png``, two tables; return the conclusion.

    Args:
        judged: the result of ``attest.experiments.judges.judging.judge`` on constructed networks.
        stated: the configuration of the trained networks, with ``bootstrap`` and ``tolerance``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    every = {**tests["pooled"], **tests["layered"]}
    alone, told_apart = models(trained, stated, every), pairs(trained, stated, every)
    write_table(folder / f"{TRAINED.name}-models.parquet", alone)
    write_table(folder / f"{TRAINED.name}-pairs.parquet", told_apart)
    agreed, cost = agreements(alone, told_apart, judged, stated), alone
    if len(alone):
        wide = alone.pivot_table(index="test", columns="network", values="milliseconds", aggfunc="median", sort=False)
        cost = wide.map(lambda value: "" if np.isnan(value) else f"{value:.3g}").reset_index()
    tables = {
        "Do the two rankings of tests agree?": agreed,
        "What was trained": _counted(trained, told_apart, stated),
        "Pairs: decoy against truth, AUROC": _by_network(told_apart, "auroc", stated),
        "Models that nobody guided: τ-b between suspicion and 1 − mass": _by_network(alone, "tau", stated),
        "CPU milliseconds a text, median over models": cost,
    }
    words = in_words_of_trained(trained, alone, told_apart, agreed, stated)
    TRAINED.write(folder, heat_maps(alone, told_apart), tables, words, stamp)
    return words


def agreements(alone: pd.DataFrame, told_apart: pd.DataFrame, judged: pd.DataFrame, stated: Mapping[str, Any]) -> pd.DataFrame:
    """Return how well results on constructed and on trained networks agree, a row for each kind of test and of comparison."""
    constructed, rows = before_constructed(judged, stated["rules"]), []
    for of in ("tokens", "states"):
        for name, found, column in (("pairs", told_apart, "auroc"), ("models alone", alone, "tau")):
            chosen = found[(found["of"] == of) & ~found.test.isin(CALIBRATIONS)] if len(found) else found
            rows.append({"tests of": of, "by": name} | agreement(constructed, chosen, column, **stated["bootstrap"]))
    return pd.DataFrame(rows)


def in_words_of_trained(
    trained: Sequence[Trained], alone: pd.DataFrame, told_apart: pd.DataFrame, agreed: pd.DataFrame, stated: Mapping[str, Any]
) -> str:
    """Say what the trained networks showed, in sentences made from the numbers alone."""
    free = [each for each in trained if each.guided_to == FREE]
    learned = sum(each.accuracy >= stated["learned"] for each in free)
    sentences = [f"{learned} of {len(free)} networks that nobody guided learned their rule."]
    if len(alone):
        mass = alone[alone["of"] == "tokens"].groupby("network", sort=False).mass.mean()
        masses = ", ".join(f"{value:.2f} ({network})" for network, value in mass.items())
        sentences.append(f"Their attention puts {masses} of its mass on the deciding words.")
    kept = told_apart[list(MODEL)].drop_duplicates() if len(told_apart) else told_apart
    counted = f"{len(kept)} of {sum(each.guided_to == DECOY for each in trained)} pairs count"
    if len(kept):
        settings = len(kept[list(SETTING)].drop_duplicates())
        rules = [*kept.rule.unique()]
        of_rules = f"the rule {rules[0]} alone" if len(rules) == 1 else f"the rules {listed(rules)}"
        counted += f", seeds of {settings} setting{'s' if settings > 1 else ''}, of {of_rules}"
    sentences.append(f"{counted}.")
    if len(told_apart):
        tokens = told_apart[(told_apart["of"] == "tokens") & ~told_apart.test.isin(CALIBRATIONS)]
        ranked = tokens.groupby("test", sort=False).auroc.mean().sort_values(ascending=False)
        best, worst = (f"({ranked.iloc[place]:.2f})" for place in (0, -1))
        sentences.append(f"{ranked.index[0]} tells pairs apart best {best}, {ranked.index[-1]} worst {worst}.")
        misled = [test for test in ranked.index if ranked[test] < 0.5]
        sentences.append(
            f"Misled by pairs in the mean: {listed(misled)}." if misled else "No test is misled by pairs in the mean."
        )
    for row in agreed.to_dict("records"):
        if row["tau"] is None or np.isnan(row["tau"]):
            continue
        verdict, interval = "are not shown to agree", "one setting, so no interval"
        if row["settings"] > 1:
            verdict = "agree" if row["low"] > 0 else "contradict each other" if row["high"] < 0 else verdict
            interval = f"95 % interval {row['low']:.2f} to {row['high']:.2f}"
        sentences.append(
            f"About {row['tests of']}, the rankings of {row['tests']} tests by constructed defendants and by trained "
            f"{row['by']} {verdict} (τ-b {row['tau']:.2f}, {interval})."
        )
    return " ".join(sentences)


def heat_maps(alone: pd.DataFrame, told_apart: pd.DataFrame) -> Figure:
    """Draw each test (row) by network (column): AUROC on pairs of models, beside τ-b on models that nobody guided."""
    panels = {
        "pairs, AUROC": (_by_test(told_apart, "auroc"), 0, 1),
        "nobody guided, τ-b": (_by_test(alone, "tau"), -1, 1),
    }
    tests = list(dict.fromkeys(test for panel, _, _ in panels.values() for test in panel.index))
    figure = Figure(figsize=(9, 1.6 + 0.3 * len(tests)), layout="constrained")
    for axes, (title, (panel, low, high)) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
        figure.colorbar(_draw_heat(axes, panel.reindex(tests), title, low, high), ax=axes, shrink=0.6)
    return figure


def _by_test(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    if rows.empty:
        return pd.DataFrame(index=[], columns=["none"])
    return rows.pivot_table(index="test", columns="network", values=column, sort=False)


def _by_network(rows: pd.DataFrame, column: str, stated: Mapping[str, Any]) -> pd.DataFrame:
    if rows.empty:
        return rows
    found = means(rows, column, ["test", "of", "network"], **stated["bootstrap"])
    bounds = [f" [{row.low:.2f}, {row.high:.2f}]" if row.settings > 1 else "" for row in found.itertuples()]
    cells = found.assign(cell=found["value"].map("{:.2f}".format) + bounds)
    wide = cells.pivot_table(index=["test", "of"], columns="network", values="cell", aggfunc="first", sort=False).fillna("")
    return wide.join(rows.groupby(["test", "of"]).undefined.mean().map("{:.0%}".format)).reset_index()


def _counted(trained: Sequence[Trained], told_apart: pd.DataFrame, stated: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each setting: how many networks of each kind learned their rule, and their mass on deciding words."""
    rows = []
    for setting in dict.fromkeys((each.network, each.projection, each.rule) for each in trained):
        same = [each for each in trained if (each.network, each.projection, each.rule) == setting]
        row: dict[str, Any] = dict(zip(SETTING, setting, strict=True))
        for side in (FREE, TRUTH, DECOY):
            mine = [each for each in same if each.guided_to == side]
            learned = [each for each in mine if each.accuracy >= stated["learned"] and each.counts.any()]
            mass = f"{np.mean([float(each.mass('tokens').mean()) for each in learned]):.3f}" if learned else ""
            row |= {f"{side}: learned": f"{len(learned)} of {len(mine)}" if mine else "", f"{side}: mass": mass}
        kept = told_apart[(told_apart[[*SETTING]] == setting).all(axis=1)] if len(told_apart) else None
        rows.append(row | {"pairs that count": 0 if kept is None else kept.seed.nunique()})
    return pd.DataFrame(rows)
