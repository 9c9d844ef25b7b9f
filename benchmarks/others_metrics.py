"""Metrics of others before the judges, beside Attest's own tests.

    python -m benchmarks.others_metrics            # writes docs/results/others-metrics.md; a minute
    python -m benchmarks.others_metrics SMOKE=1    # one rule and seed, prints the page

The metrics of ``examples/metrics_of_others.py`` are asked about the networks of configs/judges/constructed.yaml that pool by
attention. What Attest's own tests say of the same networks and texts is read from docs/results/judges.parquet, which `attest
judges` writes.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from attest.judges.judging import CALIBRATIONS, hear, judge
from attest.judges.metric import stated_with, test_of
from attest.report.run_tables import markdown_table
from benchmarks.judges.found import over_rules
from examples import metrics_of_others

RESULTS = Path("docs/results")
THEIRS = {
    "captum: infidelity": (metrics_of_others.infidelity, "wrong"),
    "captum: sensitivity_max": (metrics_of_others.sensitivity_max, "wrong"),
    "ferret: AOPC comprehensiveness": (metrics_of_others.aopc_comprehensiveness, "right"),
    "ICE: win rate": (metrics_of_others.win_rate, "right"),
}
FIELD = 0.70
SMOKE = {"rules": ["token", "conjunction"], "seeds": [0], "texts": 10}
DRAWS = 10_000


def of_others(stated: dict[str, Any]) -> pd.DataFrame:
    """Return what the metrics of others say, a row for each metric, rule and network that pools by attention.

    Args:
        stated: the configuration; of its seeds of texts the first is taken.
    """
    stated = stated | {"layered": [], "seeds": stated["seeds"][:1]}
    stated |= {"tests": {"pooled": {name: stated["tests"]["pooled"][name] for name in THEIRS}}}
    return judge(hear(stated), stated)


def by_mechanism(judged: pd.DataFrame) -> pd.DataFrame:
    """Return the mean AUROC over rules of each wrong attention (row) by each test (column)."""
    wrong = judged[judged.truth == "wrong"]
    return wrong.pivot_table("auroc", "defendant", "test", sort=False)


def difference(means: pd.DataFrame, one: str, other: str) -> tuple[float, float, float]:
    """Return how much higher the mean of one column is than that of another, with a 95 % interval over mechanisms."""
    apart = (means[one] - means[other]).to_numpy()
    drawn = np.random.default_rng(0).integers(len(apart), size=(DRAWS, len(apart)))
    low, high = np.quantile(apart[drawn].mean(axis=1), [0.025, 0.975])
    return float(apart.mean()), float(low), float(high)


def summary(judged: pd.DataFrame, means: pd.DataFrame, sees: float) -> list[list[str]]:
    """Return a row for each test: its mean with an interval, its worst mechanism, what it sees and what it accuses."""
    wrong, right = over_rules(judged, "wrong"), over_rules(judged, "right")
    rows = []
    for test in means.columns:
        mean, low, high = difference(means.assign(none=0.0), test, "none")
        mine, accused = wrong[wrong.test == test], right[(right.test == test) & (right.most >= sees)]
        worst = mine.loc[mine.least.idxmin()]
        seen = f"{(mine.least >= sees).sum()} of {len(mine)}"
        cost = judged[judged.test == test].milliseconds.median()
        told = f"{mean:.2f} [{low:.2f}, {high:.2f}]", f"{worst.least:.2f} ({worst.defendant}, {worst.rule})", seen
        rows.append([test, *told, ", ".join(accused.defendant) or "nobody", f"{cost:.2g}"])
    return rows


def in_words(means: pd.DataFrame) -> str:
    """Say whether the best test of Attest is better than the best metric of others, and what the field reports."""
    theirs = means[[*THEIRS]].mean().sort_values(ascending=False, kind="stable")
    ours = means.drop(columns=[*THEIRS]).mean().sort_values(ascending=False, kind="stable")
    apart, low, high = difference(means, ours.index[0], theirs.index[0])
    better = "is better than" if low > 0 else "is worse than" if high < 0 else "is not shown to differ from"
    return (
        f"On {len(means)} wrong attentions the best test of Attest, {ours.index[0]} (mean AUROC {ours.iloc[0]:.2f}), {better} "
        f"the best metric of others, {theirs.index[0]} ({theirs.iloc[0]:.2f}): {apart:+.2f}, 95 % interval {low:+.2f} to "
        f"{high:+.2f} over wrong attentions. Both are the best of several, chosen by these same numbers."
    )


def page(judged: pd.DataFrame, sees: float, stamp: str) -> str:
    """Return the page."""
    judged = judged[(judged["of"] == "tokens") & (judged.family == "pooled") & ~judged.test.isin(CALIBRATIONS)]
    means = by_mechanism(judged)
    worst = over_rules(judged, "wrong")
    worst = worst.assign(cell=[f"{row.auroc:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in worst.itertuples()])
    parts = [
        "# Metrics of others before the judges",
        in_words(means),
        f"The best value that the field reports for such metrics before a known truth is an AUROC of {FIELD:.2f} (BonaFide, "
        "arXiv 2605.25052). It is about chains of thought, not about attention: it says what is usual, not what to beat here.",
        "A metric says a number of a text; its AUROC is the chance that a text of a network with wrong attention looks more "
        f"suspicious than one of a network with right attention: 1 is best, 0.5 blind, less misleading. {stamp} Written by: "
        "python -m benchmarks.others_metrics",
        f"captum {version('captum')} is called. ferret's and ICE's metrics are written anew from their formulas in "
        "examples/metrics_of_others.py; of a small case they say what ferret-xai 0.4.2 and ice-faithfulness 1.0.1 say, which "
        "a test holds. All four are asked about attention as an explanation of tokens, on networks that pool by attention.",
        "## Each metric and each test",
        "The mean over wrong attentions of the mean over rules, with a 95 % interval from drawing the wrong attentions again; "
        f"the worst attention and rule; how many wrong attentions a test sees on every rule (AUROC of {sees} or more); which "
        "right ones it accuses on some rule.",
        markdown_table([["test", "mean", "worst", "sees", "accuses", "CPU ms a text"], *summary(judged, means, sees)]),
    ]
    for title, tests in (("Metrics of others", [*THEIRS]), ("Tests of Attest", [*means.columns.drop([*THEIRS])])):
        cells = worst.pivot_table("cell", "defendant", "test", aggfunc="first", sort=False)[tests].fillna("")
        rows = [[name, *row] for name, row in zip(cells.index, cells.to_numpy(), strict=True)]
        parts += [f"## {title}: each wrong attention at the worst rule", markdown_table([["attention", *tests], *rows])]
    limits = (
        "The networks are small and set by hand. The mix of wrong attentions is ours: a mean is one over this list.",
        "infidelity and sensitivity_max ask for settings; ours stand in examples/metrics_of_others.py, and nothing was tuned.",
        "sensitivity_max asks how stable attention is, not whether it is right.",
        "ICE asks for several operators; deletion alone is tried.",
    )
    return "\n\n".join([*parts, "## Limits", "\n".join(f"* {limit}" for limit in limits)]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or print that of a part."""
    torch.set_num_threads(1)
    stated = stated_with({name: test_of(*each, "tokens") for name, each in THEIRS.items()})
    ours = pd.read_parquet(RESULTS / "judges.parquet")
    if "SMOKE=1" in arguments:
        stated |= SMOKE
        print(
            page(pd.concat([of_others(stated), ours[ours.rule.isin(SMOKE["rules"])]], ignore_index=True), stated["sees"], "")
        )
        return 0
    stamp = (
        "Networks and rules are those of [the judges](judges.md), where Attest's numbers are from; the metrics of others read "
        "the first third of the texts."
    )
    text = page(pd.concat([of_others(stated), ours], ignore_index=True), stated["sees"], stamp)
    (RESULTS / "others-metrics.md").write_text(text, encoding="utf-8")
    print(text.split("\n\n")[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
