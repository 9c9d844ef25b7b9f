"""A reproduced table as Markdown: ours beside the published, what it means, where it comes from."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from attest.tables.comparison import (
    CLAIM_RULE,
    NOT_REPLICATED,
    NOT_RUN,
    NUMBER_RULE,
    REPLICATED,
    SAME_DIRECTION,
    UNDEFINED,
)
from attest.tables.definition import Experiment

MARK = "†"
EMPTY = "–"
LEAST = 0.0005
"""What is smaller would be written as 0.000."""
NUMBER_HEAD = ("row", "quantity", "ours", "seeds", "published", "difference", "in our spreads", "verdict")
CLAIM_HEAD = ("claim", "left", "", "right", "difference", "seeds", "published", "p by seed", "verdict")
VERDICTS = (REPLICATED, SAME_DIRECTION, NOT_REPLICATED, UNDEFINED, NOT_RUN)


def table_page(
    experiment: Experiment, numbers: pd.DataFrame, claims: pd.DataFrame, origin: dict[str, Any], figures: Sequence[str]
) -> str:
    """The page of one table.

    Args:
        experiment: the table.
        numbers, claims: as ``attest.tables.table`` gives them.
        origin: as ``attest.tables.provenance`` gives it.
        figures: names of the files beside it.
    """
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f"{experiment.paper}. Ours: mean ± standard deviation over seeds, on the test split.",
        *experiment.notes,
        *([f"Every run with `{' '.join(origin['settings'])}`."] if origin["settings"] else []),
        f"**{tally(numbers, claims)}**",
        *(f"## {data}\n\n{_corpus(numbers, claims, data)}" for data in numbers["data"].unique()),
        *(f"![{name}]({name}.png)" for name in figures),
        _small_print(experiment, numbers, origin),
    ]
    return "\n\n".join(parts) + "\n"


def tally(numbers: pd.DataFrame, claims: pd.DataFrame) -> str:
    """One line on how much of the table replicates."""
    sentences = [_counted("Claims", claims)] if len(claims) else []
    judged = numbers[numbers["verdict"] != ""]
    for comparable, name in ((True, "Comparable numbers"), (False, f"Numbers of another setting {MARK}")):
        chosen = judged[judged["comparable"] == comparable]
        sentences += [_counted(name, chosen)] if len(chosen) else []
    return " ".join(sentences) or "Nothing was published to compare with."


def _counted(name: str, rows: pd.DataFrame) -> str:
    counts = [(verdict, int((rows["verdict"] == verdict).sum())) for verdict in VERDICTS]
    return f"{name}: {', '.join(f'{count} {verdict}' for verdict, count in counts if count)}."


def _corpus(numbers: pd.DataFrame, claims: pd.DataFrame, data: str) -> str:
    says_nothing = (numbers["absent"] == UNDEFINED) & (numbers["published"] == "")
    mine = numbers[(numbers["data"] == data) & ~says_nothing]
    lines = [_number_line(number) for number in mine.to_dict("records")]
    tables = [_table(NUMBER_HEAD, lines)]
    said = claims[claims["data"] == data] if len(claims) else claims
    if len(said):
        tables.append(_table(CLAIM_HEAD, [_claim_line(claim) for claim in said.to_dict("records")]))
    return "\n\n".join(tables)


def _number_line(number: dict[str, Any]) -> list[str]:
    row = number["row"] if math.isnan(number["at"]) else f"{number['row']}, {number['at']:g}"
    published = number["published"] + ("" if number["comparable"] in (True, None) else f" {MARK}")
    return [
        row,
        number["column"],
        number["absent"] or with_spread(number["ours"], number["std"]),
        str(number["seeds"]),
        published or EMPTY,
        _signed(number["difference"], 3),
        _in_spreads(number["in_spreads"]),
        number["verdict"] or EMPTY,
    ]


def _claim_line(claim: dict[str, Any]) -> list[str]:
    return [
        claim["claim"],
        claim["left"],
        {"less": "<", "greater": ">", "equal": "="}[claim["expect"]],
        claim["right"],
        claim["absent"] or with_spread(claim["difference"], claim["std"], signed=True),
        str(claim["seeds"]),
        _signed(claim["published"], 3),
        ", ".join(_p_value(p) for p in claim["p"]) or EMPTY,
        claim["verdict"],
    ]


def _p_value(p: float) -> str:
    if math.isnan(p):
        return "no evidence"
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def with_spread(mean: float, std: float, signed: bool = False) -> str:
    """``0.350 ± 0.020``, ``2.1e-05 ± 3.0e-06``; no ± for one seed."""
    form = ".1e" if 0 < abs(mean) < LEAST else ".3f"
    text = f"{mean:{'+' if signed else ''}{form}}"
    return text if math.isnan(std) else f"{text} ± {std:{form}}"


def _in_spreads(value: float) -> str:
    """A spread next to nothing measures nothing: beyond 99 only that is said."""
    if abs(value) > 99:
        return "> 99" if value > 0 else "< -99"
    return _signed(value, 1)


def _signed(value: float, digits: int) -> str:
    return EMPTY if math.isnan(value) else f"{value:+.{digits}f}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def _small_print(experiment: Experiment, numbers: pd.DataFrame, origin: dict[str, Any]) -> str:
    used = set(numbers["source"])
    sources = [source for source in experiment.sources.values() if source.citation in used]
    cited = [f"* {source.citation}{'' if source.comparable else f' {MARK}: {source.why}'}" for source in sources]
    columns = [_column_rule(column) for column in experiment.columns.values()]
    hours = f"{origin['runs']} runs, {origin['hours']:.2f} hours" + (
        f" and those of {origin['untimed']} runs that were stopped and taken up" if origin["untimed"] else ""
    )
    versions = ", ".join(f"{name} {'/'.join(values)}" for name, values in origin["versions"].items())
    parts = [
        *(["## Sources", "\n".join(cited)] if cited else []),
        f"## Rules\n\n{NUMBER_RULE} {CLAIM_RULE}",
        "\n".join(columns),
        f"## Provenance\n\n```\n{origin['command']}\n```",
        f"{hours}; commit {', '.join(origin['commits']) or 'unknown'}; {versions}.",
    ]
    return "\n\n".join(parts)


def _column_rule(column: Any) -> str:
    what = f"`{column.key}`" if column.key else f"{column.statistic} of `{column.value}` in {column.table}"
    where = f" where `{column.where}`" if column.where else ""
    along = f", its {column.along} correlation with the values of the sweep" if column.along else ""
    judged = [f"tolerance {column.tolerance:g}"] if column.tolerance else []
    judged += [f"neutral {column.neutral:g}"] if column.neutral is not None else []
    return f"* {column.name}: {what}{where}{along}{'; ' if judged else ''}{', '.join(judged)}"
