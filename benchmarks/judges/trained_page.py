"""Write what the judges say of trained networks, as Markdown and as a page beside that on constructed ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.judges.judging import CALIBRATIONS
from attest.runs.folder import write_table
from benchmarks.judges.constructed_page import JudgesPages, draw_heat, listed
from benchmarks.judges.trained import (
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
        judged: the result of ``attest.judges.judging.judge`` on constructed networks.
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
        sentences.append(
            f"About tokens, and with all pairs counted alike, {ranked.index[0]} tells pairs apart best {best}, "
            f"{ranked.index[-1]} worst {worst}."
        )
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
        figure.colorbar(draw_heat(axes, panel.reindex(tests), title, low, high), ax=axes, shrink=0.6)
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
