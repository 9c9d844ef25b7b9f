"""The tables of ``docs/results/adversaries.md`` from finished runs: adversaries and controls of every base below a folder.

    python -m benchmarks.adversaries --root runs

Rows are means over the base's seeds, ± the standard deviation where there are several.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from attest.report.related import DISTANCES, SCORES, distances_of, scores_of
from attest.runs.folder import RunFolder, read_json

FOUND = "from memory of the paper, not confirmed"
PUBLISHED: dict[tuple[str, str], dict[str, str]] = {
    ("sst", "bilstm"): {
        "the base itself": f"F1 0.831 (Wiegreffe & Pinter 2019, Table 2; {FOUND}), accuracy 0.82 (Meister et al. 2021)",
        "uniform attention": f"F1 0.822 (the same Table 2; {FOUND})",
        "guide: uniform attention": f"F1 0.812 (Table 3; {FOUND})",
        "guide: attention learned with it": f"F1 0.817 (Table 3; {FOUND})",
        "guide: base's attention": f"F1 0.824 (Table 3; {FOUND})",
        "guide: adversary's attention": f"F1 0.592 (Table 3; {FOUND})",
        "unfrozen-kl, λ = 0.001": f"F1 0.823, TVD 0.036, half of ours, JSD 0.514 at their λ = 5e-4 ({FOUND})",
        "frozen-jsd": "JSD 0.62, accuracy 0.76 (Meister et al. 2021, Table 5)",
        "unfrozen-jsd": "JSD 0.61, accuracy 0.82 (Meister et al. 2021, Table 5)",
    },
    ("sst", "transformer-me"): {
        "frozen-jsd": "JSD 0.57, accuracy 0.76 (Meister et al. 2021, Table 5)",
        "unfrozen-jsd": "JSD 0.57, accuracy 0.78 (Meister et al. 2021, Table 5)",
    },
    ("conll2000", "tagger"): {
        "the base itself": "F1 0.90 (Yang 2020, Table 1)",
        "unfrozen-kl, λ = 0.2": "F1 0.90 (Yang 2020, Table 1)",
        "unfrozen-kl, λ = 3": "F1 0.75 (Yang 2020, Table 1)",
        "guide: base's attention": "F1 0.90 (Yang 2020, Table 2)",
        "guide: adversary's attention, λ = 0.2": "F1 0.90 (Yang 2020, Table 2)",
        "guide: adversary's attention, λ = 3": "F1 0.89 (Yang 2020, Table 2)",
    },
}
"""By corpus and model, then by how a row's name begins."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path("runs"), help="folder of all runs")
    root = parser.parse_args().root
    for name in sorted(
        {folder.parents[1] for folder in root.glob("*/*/seed*/*") if folder.name in ("adversarial", "controls")}
    ):
        rows = [row for base in sorted(name.glob("seed*")) for row in (*_adversaries(base), *_controls(base))]
        if rows:
            print(f"\n## {name.parent.name}, {name.name}\n\n{_markdown(rows, PUBLISHED.get(_choices(name), {}))}")


def _choices(name: Path) -> tuple[str, str]:
    run = yaml.safe_load(next(name.glob("seed*/config.yaml")).read_text(encoding="utf-8"))["run"]
    return run["data"], run["model"]


def _adversaries(base: Path) -> Iterable[dict[str, Any]]:
    for summary in base.glob("adversarial/*/summary.json"):
        run = RunFolder(summary.parent)
        settings = yaml.safe_load(run.config.read_text(encoding="utf-8"))
        terms = settings["model"]["init_args"]
        name = f"{terms['variant']}-{terms['divergence']}, λ = {terms['lam']:g}"
        order = (2, terms["variant"], terms["divergence"], terms["lam"])
        yield ({"order": order, "row": name, "epochs": settings["trainer"]["max_epochs"]} | scores_of(run) | distances_of(run))


def _controls(base: Path) -> Iterable[dict[str, Any]]:
    """Rows of the controls; other seeds are one row together."""
    summary = base / "controls" / "summary.json"
    for place, row in enumerate(read_json(summary)["rows"] if summary.is_file() else []):
        name = "other seeds" if row["experiment"] == "E5" else row["name"]
        yield {"order": (0, "", "", min(place, 2)) if row["experiment"] == "E5" else (0, "", "", place), **row, "row": name}


def _markdown(rows: Sequence[dict[str, Any]], published: dict[str, str]) -> str:
    table = pd.DataFrame(rows)
    columns = [column for column in (*SCORES, *DISTANCES, "epochs") if column in table]
    lines = [f"| run | n | {' | '.join(columns)} | published |", f"| {' | '.join(['---'] * (len(columns) + 3))} |"]
    for (_, name), group in table.groupby(["order", "row"], sort=True):
        cells = [_cell(group[column].dropna()) for column in columns]
        theirs = next((text for prefix, text in published.items() if name.startswith(prefix)), "–")
        lines.append(f"| {name} | {len(group)} | {' | '.join(cells)} | {theirs} |")
    return "\n".join(lines)


def _cell(values: pd.Series) -> str:
    if not len(values):
        return "–"
    if values.name == "epochs":
        return " ".join(f"{value:.0f}" for value in sorted(values.unique()))
    spread = f" ± {values.std():.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


if __name__ == "__main__":
    main()
