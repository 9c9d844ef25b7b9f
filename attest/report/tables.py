"""Tables over many runs, a column a setting: LaTeX for papers, Markdown for pages, CSV for programs."""

import csv
import io
import math
import re
from collections.abc import Callable, Sequence

from attest.measures.numbers import spread
from attest.report.collection import Over, Setting
from attest.report.described import label_of
from attest.report.notes import notes

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$"}
    | {"τ": r"$\tau$", "ε": r"$\varepsilon$", "Δ": r"$\Delta$", "φ": r"$\varphi$", "α": r"$\alpha$", "×": r"$\times$"}
    | {"ŷ": r"$\hat{y}$", "\N{COMBINING TILDE}": ""}
)

COLUMNS = ("setting", "measure", "mean", "std", "seeds")


def as_markdown(settings: Sequence[Setting], keys: Sequence[str]) -> str:
    """GitHub's tables; vertical bars in names are escaped. Below, what must be known before columns are compared."""
    rows = [["", *(each.name for each in settings)], ["---"] * (len(settings) + 1), *_cells(settings, keys)]
    table = "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)
    return table + "".join(f"\n{note}\n" for note in notes(settings, keys))


def as_latex(settings: Sequence[Setting], keys: Sequence[str]) -> str:
    """A ``tabular`` with booktabs' rules; as comments, what must be known before columns are compared."""
    head = ["", *(each.name for each in settings)]
    lines = [_latex_row(row) for row in _cells(settings, keys)]
    return "\n".join([
        rf"\begin{{tabular}}{{l{'r' * len(settings)}}}", r"\toprule", _latex_row(head), r"\midrule",
        *lines, r"\bottomrule", r"\end{tabular}", *(f"% {note.translate(LATEX)}" for note in notes(settings, keys)), "",
    ])  # fmt: skip


def as_csv(settings: Sequence[Setting], keys: Sequence[str]) -> str:
    """A line a setting and number, unrounded: ``setting,measure,mean,std,seeds``; std is empty for one seed."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in settings:
        for key in keys:
            if (over := each.over_seeds(key)) is not None:
                writer.writerow([each.name, key, over.mean, "" if math.isnan(over.std) else over.std, over.seeds])
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Sequence[Setting], Sequence[str]], str]] = {
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
}

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv"}
"""Formats by the suffix of a file."""
BEGINNINGS = {
    name: re.compile(re.escape(text))
    for name, text in {"markdown": "|  | ", "latex": r"\begin{tabular}{lr", "csv": ",".join(COLUMNS)}.items()
}
"""How each begins, by which a table of ours is known."""


def _cells(settings: Sequence[Setting], keys: Sequence[str]) -> list[list[str]]:
    seeds = [["seeds", *(", ".join(map(str, sorted(each.runs))) for each in settings)]]
    return seeds + [[label_of(key), *(cell(each.over_seeds(key)) for each in settings)] for key in keys]


def cell(over: Over | None) -> str:
    """``mean ± std`` over seeds; a dash where there is nothing."""
    return "–" if over is None else spread(over.mean, over.std)


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(text.replace("–", "--").translate(LATEX) for text in cells) + r" \\"
