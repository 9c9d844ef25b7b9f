"""The per-instance table of the report, and the texts that can be opened from it: plain data for the page's own script."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.experiments.registry import measures
from attest.report.explanations import explanations, joined
from attest.runs.folder import INSTANCES

ROWS = 5000
"""At most so many rows; of more texts an even part, by id."""
TEXT_BYTES = 1_600_000
"""About so many bytes of whole texts with their explanations; an even part of the texts, from least to most confident."""
EXCERPT = 90
"""Characters of each text in the table."""
LEVELS = np.array([*"0123456789abcdefghijklmnopqrstuvwxyz"])
"""A weight as one character: its share of the largest of its text, in 35ths."""


class Column(NamedTuple):
    """A measure that the table shows."""

    key: str
    name: str
    meaning: str


COLUMNS = (
    Column("instances/confidence", "confidence", "Probability of the predicted class."),
    Column("instances/length", "tokens", "Tokens of the text, or sentences where attention is over them."),
    Column("instances/max_attention", "max α", "The largest attention weight."),
)
"""Of the texts themselves."""


@cache
def _columns() -> tuple[Column, ...]:
    """All that a table can show; those are shown whose columns a run has."""
    short = ((key, measure.short) for key, measure in measures().items())
    return (*COLUMNS, *(Column(key, *words) for key, words in short if words))


def instance_table(
    tables: Mapping[str, pd.DataFrame], class_names: Sequence[str], attention_name: str = "Attention"
) -> dict[str, Any]:
    """Everything that the page's script needs, as plain data.

    Args:
        tables: one row an instance, by experiment; ``instances`` among them.
        class_names: in class order.
        attention_name: as in ``joined``.
    Returns:
        ``columns`` (name and meaning of each measure), ``classes``, ``rows`` (each: id, excerpt, label or None, predicted,
        then the measures, None where undefined), ``texts`` by id (see ``_whole``), ``empty`` (names of the measures that are
        undefined on every text, which have no column) and ``total``.
    """
    rows = joined(tables, attention_name).assign(**_measures(tables))
    known = [column for column in _columns() if column.key in rows]
    shown = [column for column in known if rows[column.key].notna().any()]
    part = evenly(rows, ROWS)
    return {
        "columns": [{"name": column.name, "meaning": column.meaning} for column in shown],
        "classes": list(class_names),
        "rows": [_row(row, shown) for row in part.to_dict("records")],
        "texts": _whole_texts(part.sort_values(f"{INSTANCES}/confidence")),
        "empty": [column.name for column in known if column not in shown],
        "total": len(rows),
    }


def as_script_data(content: Any) -> str:
    """JSON that cannot end the ``<script>`` element it stands in, nor begin anything else."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def evenly(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """At most so many rows, evenly spread over the order they stand in, the first and the last among them."""
    places = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))
    return rows.iloc[places]


def _measures(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """The columns of the table that the tables have, by instance."""
    instances = tables[INSTANCES].set_index("id")
    measures = {
        f"{INSTANCES}/confidence": instances.filter(regex="^probability_").max(axis=1),
        f"{INSTANCES}/length": instances["length"],
        f"{INSTANCES}/max_attention": instances["max_attention"],
    }
    for column in _columns():
        experiment, name = column.key.split("/")
        table = tables.get(experiment)
        if experiment != INSTANCES and table is not None and name in table and table["id"].is_unique:
            measures[column.key] = table.set_index("id")[name]
    return measures


def _row(row: dict[str, Any], shown: Sequence[Column]) -> list[Any]:
    measures = [_rounded(row[column.key]) for column in shown]
    label = int(row["label"]) if "label" in row else None
    return [int(row["id"]), _excerpt(row["tokens"]), label, int(row["predicted"]), *measures]


def _rounded(value: float) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if float(value).is_integer() else round(float(value), 4)


def _excerpt(tokens: Sequence[str]) -> str:
    text = " ".join(tokens)
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} …"


def _whole_texts(rows: pd.DataFrame) -> dict[int, dict[str, Any]]:
    """As many texts as the page has room for, evenly spread, each with all its explanations."""
    sample = [_whole(row) for row in evenly(rows, 20).to_dict("records")]
    bytes_per_text = sum(len(as_script_data(text)) for text in sample) / len(sample)
    part = evenly(rows, max(1, int(TEXT_BYTES / bytes_per_text)))
    return {int(row["id"]): _whole(row) for row in part.to_dict("records")}


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens; places of those that decide; name, kind, note and weights of each explanation, a character a token."""
    shown = [
        {
            "name": each.name,
            "kind": each.kind,
            "note": each.note,
            "heat": "".join(LEVELS[np.rint((len(LEVELS) - 1) * each.heat).astype(int)]),
        }
        for each in explanations(row)
    ]
    rationale = row.get("rationale")
    decides = [] if rationale is None else np.flatnonzero(rationale).tolist()
    asked = question(row)
    return {"tokens": list(row["tokens"]), "decides": decides, "shown": shown} | ({"question": asked} if asked else {})


def question(row: Mapping[str, Any]) -> str | None:
    """What was read beside a text: a question or a hypothesis; None where nothing was."""
    words = row.get("question")
    return None if words is None else " ".join(words)
