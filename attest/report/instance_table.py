"""The table of texts, or of tagged sentences, in the report, and the texts that a reader can open from it, as plain data for
the script of the page.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.experiments.registry import measures
from attest.report.explained import ATTENTION, Explanation, explanations, joined
from attest.runs.folder import INSTANCES, columns_in, read_rows, read_table

ROWS = 5000
"""The largest number of rows; of more texts, the table shows rows at even distances, by id."""
TEXT_BYTES = 1_600_000
"""The approximate size of all whole texts with their explanations, in bytes."""
EXCERPT = 90
"""The number of characters of each text in the table."""
LEVELS = np.array([*"0123456789abcdefghijklmnopqrstuvwxyz"])
"""The character of each weight, by its share of the largest weight in the text, in 35ths."""


class Column(NamedTuple):
    """A column of the table, which shows one measure."""

    key: str
    name: str
    meaning: str


COLUMNS = (
    Column("instances/confidence", "confidence", "Probability of the predicted class."),
    Column("instances/length", "tokens", "Tokens of the text, or sentences where attention is over them."),
    Column("instances/max_attention", "max α", "The largest attention weight."),
)
"""The columns of the texts themselves."""


@cache
def of_measures() -> tuple[Column, ...]:
    """Return the columns of all experiments that the table can show."""
    short = ((key, measure.short) for key, measure in measures().items())
    return tuple(Column(key, *words) for key, words in short if words)


def instance_table(
    tables: Mapping[str, pd.DataFrame], class_names: Sequence[str], attention_name: str = "Attention"
) -> dict[str, Any]:
    """Return the data of the table of texts that the script of the page needs.

    Args:
        tables: the tables by experiment, one row for each instance; ``instances`` is one of them.
        class_names: the names of the classes, in class order.
        attention_name: the name of the reading in the column ``attention``.
    Returns:
        ``columns`` (name and meaning of each measure), ``classes``, ``rows`` (each: id, excerpt, label or None, predicted,
        then the measures, None if undefined), ``texts`` by id (see ``_whole``), ``empty`` (names of the measures that are
        undefined on every text, which have no column) and ``total``.
    """
    rows = joined(tables, attention_name).assign(**_of_texts(tables[INSTANCES]), **of_experiments(tables))
    shown, described = columns_of(rows, (*COLUMNS, *of_measures()))
    part = evenly(rows, ROWS)
    return described | {
        "classes": list(class_names),
        "rows": [_row(row, shown) for row in part.to_dict("records")],
        "texts": whole_texts(part.sort_values(f"{INSTANCES}/confidence"), _whole),
    }


def columns_of(rows: pd.DataFrame, known: Sequence[Column]) -> tuple[list[Column], dict[str, Any]]:
    """Return the columns with a number in some row, and what the script of the page needs to know about them.

    Args:
        rows: one row for each text, with columns by key.
        known: the columns that may be shown, in the order of the table.
    """
    there = [column for column in known if column.key in rows]
    shown = [column for column in there if rows[column.key].notna().any()]
    return shown, {
        "columns": [{"name": column.name, "meaning": column.meaning} for column in shown],
        "empty": [column.name for column in there if column not in shown],
        "total": len(rows),
    }


def as_script_data(content: Any) -> str:
    """Return the content as JSON that cannot end the ``<script>`` element around it or begin another element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def evenly(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return at most ``count`` rows at even distances, with the first and the last."""
    places = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))
    return rows.iloc[places]


def _of_texts(instances: pd.DataFrame) -> dict[str, pd.Series]:
    rows = instances.set_index("id")
    return {
        f"{INSTANCES}/confidence": rows.filter(regex="^probability_").max(axis=1),
        f"{INSTANCES}/length": rows["length"],
        f"{INSTANCES}/max_attention": rows["max_attention"],
    }


def of_experiments(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Return the measures that the tables of experiments have, by key, each indexed by the id of the text."""
    found = {}
    for column in of_measures():
        experiment, name = column.key.split("/")
        table = tables.get(experiment)
        if experiment != INSTANCES and table is not None and name in table and table["id"].is_unique:
            found[column.key] = table.set_index("id")[name]
    return found


def _row(row: dict[str, Any], shown: Sequence[Column]) -> list[Any]:
    label = int(row["label"]) if "label" in row else None
    return [int(row["id"]), excerpt(row["tokens"]), label, int(row["predicted"]), *cells(row, shown)]


def cells(row: Mapping[str, Any], shown: Sequence[Column]) -> list[float | int | None]:
    """Return the numbers of a row, rounded; None if a number is undefined."""
    return [_rounded(row[column.key]) for column in shown]


def _rounded(value: float) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if float(value).is_integer() else round(float(value), 4)


def excerpt(tokens: Sequence[str]) -> str:
    """Return the beginning of a text."""
    text = " ".join(tokens)
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} …"


def whole_texts(rows: pd.DataFrame, whole: Callable[[dict[Any, Any]], dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return as many whole texts as the page has room for, at even distances in the rows, by id.

    Args:
        rows: one row for each text.
        whole: the function that turns a row into the data that open it in the page.
    """
    sample = [whole(row) for row in evenly(rows, 20).to_dict("records")]
    bytes_per_text = sum(len(as_script_data(text)) for text in sample) / len(sample)
    part = evenly(rows, max(1, int(TEXT_BYTES / bytes_per_text)))
    return {int(row["id"]): whole(row) for row in part.to_dict("records")}


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens of a text, the places of deciding tokens, and each explanation with one character for each token."""
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
    """Return the question or hypothesis that was read beside a text; None if there was none."""
    words = row.get("question")
    return None if words is None else " ".join(words)


WORDS = 3
"""The number of words in a sentence whose attention is shown."""
SENTENCES = 12


LIGHT = ("id", "tokens", "tags", "predicted_tags", "max_attention")
"""The columns that are read of all sentences; all other columns hold many numbers for each word."""


def tagged_sentences(path: Path) -> pd.DataFrame | None:
    """Return all sentences without attention and probabilities; None if the table is missing or lacks columns.

    Args:
        path: the path of the table of tagged sentences.
    """
    if not path.is_file():
        return None
    there = columns_in(path)
    if not {"tokens", "attention", "tags", "predicted_tags"} <= {*there}:
        return None
    return read_table(path, [name for name in LIGHT if name in there])


def tag_names(path: Path) -> list[str]:
    """Return the names of the tags in their order."""
    return [name.removeprefix("probability_") for name in columns_in(path) if name.startswith("probability_")]


def shown_sentences(path: Path, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return sentences with their tags, at even distances from the worst to the best tagged one.

    Args:
        path: the path of the table of tagged sentences; whole rows are read only for the sentences that are shown.
        rows: the result of ``tagged_sentences``.
    Returns:
        For each sentence ``id``; ``right``, the share of words tagged correctly; ``tokens``; ``tags``, for each token the
        predicted tag, with the gold tag if that is another, or None if it is no word; and ``explanations``, the
        attention of the words that are wrong or have the least probable tag.
    """
    names = tag_names(path)
    spread = rows.assign(right=right_share(rows)).dropna(subset=["right"]).sort_values("right", kind="stable")
    chosen = evenly(spread, SENTENCES).set_index("id")["right"]
    whole = read_rows(path, chosen.index.tolist()).set_index("id", drop=False).loc[chosen.index]
    return [_shown(row, names) for row in whole.assign(right=chosen).to_dict("records")]


def right_share(rows: pd.DataFrame) -> np.ndarray:
    """Return the share of words of each sentence that are tagged correctly, float64 ``(N,)``; NaN if no word has a tag."""
    pairs = zip(rows["tags"], rows["predicted_tags"], strict=True)
    right = [(gold == predicted)[gold >= 0] for gold, predicted in pairs]
    return np.array([each.mean() if len(each) else np.nan for each in right])


def _shown(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    tags = [_tag(gold, predicted, names) for gold, predicted in zip(row["tags"], row["predicted_tags"], strict=True)]
    return {
        "id": row["id"],
        "right": row["right"],
        "tokens": list(row["tokens"]),
        "tags": tags,
        "explanations": _explanations(row, names),
    }


def _tag(gold: int, predicted: int, names: Sequence[str]) -> tuple[str, str | None] | None:
    if gold < 0:
        return None
    return names[predicted], None if gold == predicted else names[gold]


def _explanations(row: Mapping[str, Any], names: Sequence[str]) -> list[Explanation]:
    """Return the attention of the most doubtful words, each the mean over all heads of all layers."""
    size = len(row["tokens"])
    attention = np.asarray(row["attention"]).reshape(size, size, -1).mean(axis=-1)
    probabilities = np.stack([row[f"probability_{name}"] for name in names], axis=-1).max(axis=-1)
    return [
        Explanation(ATTENTION, _said(row, word, float(probabilities[word]), names), "attention", attention[word])
        for word in _doubtful(row, probabilities)
    ]


def _doubtful(row: Mapping[str, Any], probabilities: np.ndarray) -> list[int]:
    """Return the places of wrong words, then of the words with the least probable tag, in the order of the sentence."""
    wrong = row["tags"] != row["predicted_tags"]
    order = np.lexsort((probabilities, ~wrong))
    return sorted(order[row["tags"][order] >= 0][:WORDS].tolist())


def _said(row: Mapping[str, Any], word: int, probability: float, names: Sequence[str]) -> str:
    gold, predicted = row["tags"][word], row["predicted_tags"][word]
    wrong = "" if gold == predicted else f", gold tag {names[gold]}"
    return f"“{row['tokens'][word]}” → {names[predicted]} ({probability:.2f}){wrong}"
