"""The judges before trained networks, as Markdown and as a page: do they agree with those before constructed ones?"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.experiments.judges.judging import CALIBRATIONS
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
from attest.report.judges import frame_as_markdown, listed
from attest.report.related import Page
from attest.runs.folder import write_atomically, write_table, write_text

NAME = "judges-trained"
TITLE = "The judges before trained networks"
CAPTION = (
    "Left: AUROC of telling the texts of a network whose attention was guided to a decoy from those of its twin, guided to "
    "the deciding words; 1 is best, 0.5 blind and less misleading. Right: τ-b between suspicion and 1 − mass on the deciding "
    "words over the texts of a network that nobody guided; 1 is best. Means over models. Empty: no pair, or nothing is said."
)
LIMITS = (
    "Texts, words and networks are small; the rules are two.",
    "On states only networks without context (average) are judged: elsewhere nobody knows which states carry the decision.",
    "A decoy is the first word that the rule does not read, at any place in the text.",
    "Guided attention is more extreme than what training finds alone.",
    "Intervals draw settings (network, projection and rule) again, each with all its seeds. Settings are few, so intervals "
    "are rough; of one setting there is none.",
    "A ranking of tests needs a mean over defendants, whose mix is ours. It compares two rankings and serves nothing else.",
)


def write_trained(
    folder: Path,
    trained: Sequence[Trained],
    judged: pd.DataFrame,
    stated: Mapping[str, Any],
    tests: Mapping[str, Any],
    stamp: str,
) -> str:
    """Write ``judges-trained.md``, ``.html``, ``.png``, and a table each of models and of pairs into a folder.

    Args:
        folder: is made where it is missing.
        trained: every model.
        judged: what was found before constructed defendants, as ``attest.experiments.judges.judging.judge`` returns it.
        stated: the configuration of trained defendants, with ``bootstrap`` and ``tolerance``.
        tests: as in the configuration of constructed ones, by family.
        stamp: which stated configuration this is.
    Returns:
        The paragraph in plain words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    every = {**tests["pooled"], **tests["layered"]}
    alone, told_apart = models(trained, stated, every), pairs(trained, stated, every)
    write_table(folder / f"{NAME}-models.parquet", alone)
    write_table(folder / f"{NAME}-pairs.parquet", told_apart)
    agreed = agreements(alone, told_apart, judged, stated)
    drawing = heat_maps(alone, told_apart)
    write_atomically(folder / f"{NAME}.png", partial(save_png, drawing))
    words = in_words(trained, alone, told_apart, agreed, stated)
    tables = {
        "Do the two rankings of tests agree?": agreed,
        "What was trained": _counted(trained, told_apart, stated),
        "Pairs: decoy against truth, AUROC": _by_network(told_apart, "auroc", stated),
        "Models that nobody guided: τ-b between suspicion and 1 − mass": _by_network(alone, "tau", stated),
        "CPU milliseconds a text, median over models": _cost(alone),
    }
    notes = pd.DataFrame({"read this first": [words, stamp, *LIMITS]})
    figure = Illustration("judges/trained", "Which test sees which trained attention", CAPTION, lambda: drawing)
    Page(TITLE, {"In short": notes} | tables, [figure]).write(folder / f"{NAME}.html")
    write_text(folder / f"{NAME}.md", _markdown(tables, words, stamp))
    return words


def agreements(alone: pd.DataFrame, told_apart: pd.DataFrame, judged: pd.DataFrame, stated: Mapping[str, Any]) -> pd.DataFrame:
    """One row a kind of test and a kind of trained network, as ``agreement`` says it."""
    constructed, rows = before_constructed(judged, stated["rules"]), []
    for of in ("tokens", "states"):
        for name, found, column in (("pairs", told_apart, "auroc"), ("models alone", alone, "tau")):
            chosen = found[(found["of"] == of) & ~found.test.isin(CALIBRATIONS)] if len(found) else found
            rows.append({"tests of": of, "by": name} | agreement(constructed, chosen, column, **stated["bootstrap"]))
    return pd.DataFrame(rows)


def in_words(
    trained: Sequence[Trained], alone: pd.DataFrame, told_apart: pd.DataFrame, agreed: pd.DataFrame, stated: Mapping[str, Any]
) -> str:
    """What came out, from the numbers alone."""
    free = [each for each in trained if each.guided_to == FREE]
    learned = sum(each.accuracy >= stated["learned"] for each in free)
    sentences = [f"{learned} of {len(free)} networks that nobody guided learned their rule."]
    if len(alone):
        sentences.append(f"Their attention puts {_masses(alone)} of its mass on the deciding words.")
    kept = told_apart[list(MODEL)].drop_duplicates() if len(told_apart) else told_apart
    counted = f"{len(kept)} of {sum(each.guided_to == DECOY for each in trained)} pairs count"
    if len(kept):
        settings = len(kept[list(SETTING)].drop_duplicates())
        counted += f", seeds of {settings} setting{'s' if settings > 1 else ''}, of {_rules(kept)}"
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
    sentences += [_agreed(row) for row in agreed.itertuples() if row.tau is not None and not np.isnan(row.tau)]
    return " ".join(sentences)


def _masses(alone: pd.DataFrame) -> str:
    mass = alone[alone["of"] == "tokens"].groupby("network", sort=False).mass.mean()
    return ", ".join(f"{value:.2f} ({network})" for network, value in mass.items())


def _rules(rows: pd.DataFrame) -> str:
    rules = [*rows.rule.unique()]
    return f"the rule {rules[0]} alone" if len(rules) == 1 else f"the rules {listed(rules)}"


def _agreed(row: Any) -> str:
    verdict, interval = "are not shown to agree", "one setting, so no interval"
    if row.settings > 1:
        verdict = "agree" if row.low > 0 else "contradict each other" if row.high < 0 else verdict
        interval = f"95 % interval {row.low:.2f} to {row.high:.2f}"
    return (
        f"About {row[1]}, the rankings of {row.tests} tests by constructed defendants and by trained {row.by} {verdict} "
        f"(τ-b {row.tau:.2f}, {interval})."
    )


def heat_maps(alone: pd.DataFrame, told_apart: pd.DataFrame) -> Figure:
    """Tests by networks: pairs told apart beside what goes with the mass."""
    panels = [_matrix(told_apart, "auroc"), _matrix(alone, "tau")]
    tests = list(dict.fromkeys(test for panel in panels for test in panel.index))
    figure = Figure(figsize=(9, 1.6 + 0.3 * len(tests)), layout="constrained")
    ranges = ((0, 1, 0.5), (-1, 1, 0))
    titles = ("pairs, AUROC", "nobody guided, τ-b")
    for axes, panel, (low, high, middle), title in zip(
        figure.subplots(1, 2, sharey=True), panels, ranges, titles, strict=True
    ):
        values = panel.reindex(tests)
        shown = axes.imshow(values.to_numpy(dtype=float), vmin=low, vmax=high, cmap="RdBu", aspect="auto")
        axes.set_title(title, fontsize=9)
        axes.set_xticks(range(values.shape[1]), values.columns, rotation=60, ha="right", fontsize=8)
        axes.set_yticks(range(len(tests)), tests, fontsize=8)
        for (row, column), value in np.ndenumerate(values.to_numpy(dtype=float)):
            if not np.isnan(value):
                colour = "white" if abs(value - middle) > 0.7 * (high - middle) else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
        figure.colorbar(shown, ax=axes, shrink=0.6)
    return figure


def _matrix(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    if rows.empty:
        return pd.DataFrame(index=[], columns=["none"])
    return rows.pivot_table(index="test", columns="network", values=column, sort=False)


def _by_network(rows: pd.DataFrame, column: str, stated: Mapping[str, Any]) -> pd.DataFrame:
    if rows.empty:
        return rows
    found = means(rows, column, ["test", "of", "network"], **stated["bootstrap"])
    cells = found.assign(cell=[_cell(row) for row in found.itertuples()])
    wide = cells.pivot_table(index=["test", "of"], columns="network", values="cell", aggfunc="first", sort=False).fillna("")
    return wide.join(rows.groupby(["test", "of"]).undefined.mean().map("{:.0%}".format)).reset_index()


def _cell(row: Any) -> str:
    return f"{row.value:.2f}" + (f" [{row.low:.2f}, {row.high:.2f}]" if row.settings > 1 else "")


def _cost(alone: pd.DataFrame) -> pd.DataFrame:
    if alone.empty:
        return alone
    wide = alone.pivot_table(index="test", columns="network", values="milliseconds", aggfunc="median", sort=False)
    return wide.map(lambda value: "" if np.isnan(value) else f"{value:.3g}").reset_index()


def _counted(trained: Sequence[Trained], told_apart: pd.DataFrame, stated: Mapping[str, Any]) -> pd.DataFrame:
    rows = []
    for network, projection, rule in dict.fromkeys((each.network, each.projection, each.rule) for each in trained):
        same = [each for each in trained if (each.network, each.projection, each.rule) == (network, projection, rule)]
        told = {"network": network, "projection": projection, "rule": rule}
        for side in (FREE, TRUTH, DECOY):
            mine = [each for each in same if each.guided_to == side]
            learned = [each for each in mine if each.accuracy >= stated["learned"] and each.counts.any()]
            told |= {f"{side}: learned": f"{len(learned)} of {len(mine)}"} if mine else {f"{side}: learned": ""}
            told |= {
                f"{side}: mass": f"{np.mean([float(each.mass('tokens').mean()) for each in learned]):.3f}" if learned else ""
            }
        mine = (
            told_apart[(told_apart[["network", "projection", "rule"]] == [network, projection, rule]).all(axis=1)]
            if len(told_apart)
            else told_apart
        )
        rows.append(told | {"pairs that count": mine.seed.nunique() if len(mine) else 0})
    return pd.DataFrame(rows)


def _markdown(tables: Mapping[str, pd.DataFrame], words: str, stamp: str) -> str:
    parts = [f"# {TITLE}", words, stamp, f"![Which test sees which trained attention]({NAME}.png)", CAPTION]
    for name, rows in tables.items():
        parts += [f"## {name}", frame_as_markdown(rows)]
    parts += ["## Limits", "\n".join(f"* {limit}" for limit in LIMITS)]
    return "\n\n".join(parts) + "\n"
