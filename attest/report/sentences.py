"""Tagged sentences with what a tagger attends to: of each, the words that it tags wrongly or is least sure of."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from attest.report.explanations import ATTENTION, Explanation
from attest.report.instance_table import evenly

WORDS = 3
"""Words of a sentence whose attention is shown."""
SENTENCES = 12


def shown_sentences(rows: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Sentences with their tags, evenly spread from the one tagged worst to the one tagged best.

    Args:
        rows: the table of tagged sentences; None, or one without tokens, where there are none to show.
    Returns:
        Of each sentence ``id``; ``right``, the share of its words that are tagged rightly; ``tokens``; ``tags``, of each token
        what is predicted, the gold tag where that is another, or None where it is of no word; and ``explanations``, the
        attention of the words that are wrong or least sure.
    """
    if rows is None or not {"tokens", "attention", "predicted_tags"} <= {*rows}:
        return []
    names = [name.removeprefix("probability_") for name in rows if name.startswith("probability_")]
    right = rows.apply(lambda row: _right(row).mean(), axis=1)
    spread = rows.assign(right=right).dropna(subset=["right"]).sort_values("right", kind="stable")
    return [_shown(row, names) for row in evenly(spread, SENTENCES).to_dict("records")]


def _right(row: Mapping[str, Any]) -> np.ndarray:
    """Whether each word is tagged rightly; of a word in subwords the first alone has a tag."""
    tagged = row["tags"] >= 0
    return (row["tags"] == row["predicted_tags"])[tagged]


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
    """Attention of one word each, mean over all heads of all layers."""
    size = len(row["tokens"])
    attention = np.asarray(row["attention"]).reshape(size, size, -1).mean(axis=-1)
    probabilities = np.stack([row[f"probability_{name}"] for name in names], axis=-1).max(axis=-1)
    return [
        Explanation(ATTENTION, _said(row, word, float(probabilities[word]), names), "attention", attention[word])
        for word in _doubtful(row, probabilities)
    ]


def _doubtful(row: Mapping[str, Any], probabilities: np.ndarray) -> list[int]:
    """Places of the words that are wrong, then of those that the tagger is least sure of, in the order of the sentence."""
    wrong = row["tags"] != row["predicted_tags"]
    order = np.lexsort((probabilities, ~wrong))
    return sorted(order[row["tags"][order] >= 0][:WORDS].tolist())


def _said(row: Mapping[str, Any], word: int, probability: float, names: Sequence[str]) -> str:
    gold, predicted = row["tags"][word], row["predicted_tags"][word]
    wrong = "" if gold == predicted else f", gold tag {names[gold]}"
    return f"“{row['tokens'][word]}” → {names[predicted]} ({probability:.2f}){wrong}"
