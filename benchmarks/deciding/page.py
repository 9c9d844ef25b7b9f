"""The page of what was measured: docs/results/deciding.md, made of the tables beside it."""

from pathlib import Path

import pandas as pd

from attest.core.measures.numbers import percent
from attest.core.measures.summary import share_interval
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text

PAGE = Path(__file__).parents[2] / "docs" / "results" / "deciding.md"
TABLES = PAGE.with_suffix("")
FROZEN = "2026-11-27"
SETTING = ["kind", "projection", "rule", "seed", "guide"]


def kept(name: str, rows: pd.DataFrame) -> None:
    """Keep a table, and write the page again."""
    TABLES.mkdir(parents=True, exist_ok=True)
    rows.round(4).to_csv(TABLES / f"{name}.csv", index=False, lineterminator="\n")
    write()


def write() -> None:
    """Write the page from the tables that are there."""
    parts = [
        "# What decides, held against known truth",
        "[What decides in a text](../deciding.md) says what is measured. Each line below compares the "
        "measure with a truth that "
        f"it does not use. The definition was frozen on {FROZEN}.",
    ]
    for name, said in (("mechanisms", _mechanisms), ("trained", _trained), ("planted", _planted)):
        if (path := TABLES / f"{name}.csv").is_file():
            parts += said(pd.read_csv(path))
    write_text(PAGE, "\n\n".join(parts) + "\n")


def _mechanisms(rows: pd.DataFrame) -> list[str]:
    shown = rows.assign(
        side=rows.looked_at.map({True: "looked at", False: "held out"}),
        right=rows.right.map("{:.2f}".format),
        measured=rows.measured.map("{:.2f}".format),
        agree=rows.agree.map("{:.2f}".format),
    ).replace("nan", "")
    columns = ["mechanism", "side", "explanation", "texts", "right", "measured", "agree"]
    table = [tuple(columns), *shown[columns].astype(str).itertuples(index=False, name=None)]
    sides = []
    for side, part in rows.dropna(subset="agree").groupby("looked_at"):
        share = (part.agree * part.texts).sum() / part.texts.sum()
        sides.append(f"{percent(share, 1)} of {part.texts.sum():,} pairs of a text and an explanation "
                     f"{'on mechanisms that were looked at' if side else 'on mechanisms that were held out'}")  # fmt: skip
    return [
        "## Mechanisms in code",
        f"The rule and the measure agree in {' and '.join(reversed(sides))} (`python -m benchmarks.deciding`). *Right* and "
        "*measured* are shares of the texts that need words. Held out were mechanisms whose names hash to an odd number. "
        "After they had been tried, one thing was changed: a set that four fillings call deciding is read under twelve more, "
        "because *place* showed that four can be lucky. What is left there is a limit: where a place decides and not a word, "
        "the fillings carry evidence themselves.",
        markdown_table(table),
    ]


def _trained(rows: pd.DataFrame) -> list[str]:
    learned = rows.dropna(subset="measured")
    both = int(learned.both.sum())
    agree = (learned.agree * learned.both).sum() / both
    false_right = learned.false_right.sum() / both
    apart = learned.assign(
        yes=learned.measured >= 0.9, true_yes=learned.truth >= 0.9, no=learned.measured < 0.5, true_no=learned.truth < 0.5
    )
    false_yes, false_no = int((apart.yes & apart.true_no).sum()), int((apart.no & apart.true_yes).sum())
    _, high = share_interval(pd.Series([1.0] * false_yes + [0.0] * (len(apart) - false_yes)).to_numpy())
    shown = learned[[*SETTING, "texts", "needs", "needs_truth", "measured", "truth", "agree", "passes"]].copy()
    for name in ("needs", "needs_truth", "measured", "truth", "agree"):
        shown[name] = shown[name].map("{:.2f}".format)
    shown["passes"] = shown.passes.map("{:.0f}".format)
    table = [tuple(shown.columns), *shown.astype(str).itertuples(index=False, name=None)]
    return [
        "## Trained networks",
        f"{len(learned)} of {len(rows)} small networks learned their rule (`python -m benchmarks.deciding.trained`). The "
        "truth is found by trying all subsets of the rule's words with the generator's own fillers. Text by "
        "text the two agree "
        f"in {percent(agree, 1)} of {both:,} texts that both say need words; {percent(false_right, 1)} are "
        f"called right and are "
        f"not. False yes (90 % or more measured, fewer than half in truth): {false_yes} of {len(apart)} networks, upper 95 % "
        f"bound {percent(high)}; false no: {false_no}.",
        markdown_table(table),
    ]


def _planted(rows: pd.DataFrame) -> list[str]:
    obeyed = rows.obeyed.sum()
    agree, same = ((rows[name] * rows.obeyed).sum() / obeyed for name in ("agree", "set"))
    table = [tuple(rows.columns), *rows.round(2).astype(str).itertuples(index=False, name=None)]
    return [
        "## Planted rationales by length",
        "The run of `make train` on planted texts of other lengths (`python -m benchmarks.deciding.planted "
        "<run>`). A rationale "
        "is the truth of the data; it is the model's only in texts that the model obeys: it decides as the label says, and no "
        "word outside the rationale moves the prediction by 0.05 when it alone is exchanged. In these "
        f"{obeyed} texts attention is judged as by the rationale in {percent(agree, 1)}, and the set that is shown is the "
        f"rationale in {percent(same, 1)}. The goals were 97 % and 90 %. Where the two sets differ, the model "
        f"needs *is* beside "
        "*not* among neutral words, which the rationale does not hold.",
        markdown_table(table),
    ]
