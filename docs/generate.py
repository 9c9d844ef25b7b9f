"""Write the parts of pages that come from the registry of experiments: ``make docs``.

They stand between ``<!-- experiments: … -->`` and ``<!-- end -->``; a test holds them equal to the registry.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path

from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import LN2, Column, Measure, Spec

ROOT = Path(__file__).parents[1]
AGAINST = {"low": "low values", "high": "high values", None: "neither"}


def evidence_table() -> str:
    """What every experiment asks, and how: the README's table."""
    rows = [f"| {spec.id} | {spec.question} {spec.does} | {spec.source} |" for spec in EXPERIMENTS.values()]
    return "\n".join(["| id | question | source |", "| --- | --- | --- |", *rows])


def columns_reference() -> str:
    """Every column, and how the numbers of the verdict are read, a section an experiment."""
    return "\n\n".join(_section(spec) for spec in EXPERIMENTS.values() if spec.columns)


def _section(spec: Spec) -> str:
    about = f"{spec.question} {spec.does} ({spec.source}). It speaks of {spec.about}. Cost: {spec.cost}."
    parts = [f"## {spec.id}", about, spec.about_columns, _columns(spec), _measures(spec)]
    return "\n\n".join(part for part in parts if part)


def _columns(spec: Spec) -> str:
    return "\n".join(
        ["| column | type | range | unit | meaning |", "| --- | --- | --- | --- | --- |", *map(_column, spec.columns)]
    )


def _column(column: Column) -> str:
    cells = (f"`{column.name}`", column.type, _range(column), column.unit, column.means)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _range(column: Column) -> str:
    if column.range is None:
        return ""
    low, high = (f"{end:.3f}" if abs(end) == LN2 else f"{end:g}" for end in column.range)
    if math.isinf(column.range[0]):
        return "any"
    return f"at least {low}" if math.isinf(column.range[1]) else f"[{low}, {high}]"


def _measures(spec: Spec) -> str:
    head = [
        "| in the verdict | what it says | how it is misread | of | suspicious |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *(_measure(spec, measure) for measure in spec.measures)]) if spec.measures else ""


def _measure(spec: Spec, measure: Measure) -> str:
    cells = (
        f"`{measure.column}`: {measure.title}",
        measure.means,
        measure.misread,
        spec.about_of(measure),
        AGAINST[measure.suspicious],
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


PARTS: dict[str, Callable[[], str]] = {"table": evidence_table, "columns": columns_reference}
PAGES = ("README.md", "docs/evidence-columns.md")
GENERATED = re.compile(r"(<!-- experiments: (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)


def generated(page: str) -> str:
    """A page with its generated parts as the registry has them."""
    return GENERATED.sub(lambda match: f"{match[1]}{PARTS[match[2]]()}{match[3]}", page)


if __name__ == "__main__":
    for name in PAGES:
        file = ROOT / name
        file.write_text(generated(file.read_text(encoding="utf-8")), encoding="utf-8")
        print(file)
