"""Tagged sentences with what a tagger attends to: of each, the words that it tags wrongly or is least sure of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attest.report.explanations import ATTENTION, Explanation
from attest.report.instance_table import evenly
from attest.runs.folder import columns_in, read_rows, read_table

WORDS = 3
"""Words of a sentence whose attention is shown."""
SENTENCES = 12


LIGHT = ("id", "tokens", "tags", "predicted_tags", "max_attention")
"""The columns that are read of all sentences; the others are many numbers a word."""


def tagged_sentences(path: Path) -> pd.DataFrame | None:
    """All sentences without their attention and probabilities; None where there are none to show.

    Args:
        path: of the table of tagged sentences.
    """
    if not path.is_file():
        return None
    there = columns_in(path)
    if not {"tokens", "attention", "tags", "predicted_tags"} <= {*there}:
        return None
    return read_table(path, [name for name in LIGHT if name in there])


def tag_names(path: Path) -> list[str]:
    """The names of the tags, in their order."""
    return [name.removeprefix("probability_") for name in columns_in(path) if name.startswith("probability_")]


def shown_sentences(path: Path, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Sentences with their tags, evenly spread from the one tagged worst to the one tagged best.

    Args:
        path: of the table of tagged sentences, of which whole rows are read of the sentences that are shown alone.
        rows: as ``tagged_sentences`` returns them.
    Returns:
        Of each sentence ``id``; ``right``, the share of its words that are tagged rightly; ``tokens``; ``tags``, of each token
        what is predicted, the gold tag where that is another, or None where it is of no word; and ``explanations``, the
        attention of the words that are wrong or least sure.
    """
    names = tag_names(path)
    spread = rows.assign(right=right_share(rows)).dropna(subset=["right"]).sort_values("right", kind="stable")
    chosen = evenly(spread, SENTENCES).set_index("id")["right"]
    whole = read_rows(path, chosen.index.tolist()).set_index("id", drop=False).loc[chosen.index]
    return [_shown(row, names) for row in whole.assign(right=chosen).to_dict("records")]


def right_share(rows: pd.DataFrame) -> np.ndarray:
    """The share of the words of each sentence that are tagged rightly, NaN where none has a tag: float64 ``(N,)``."""
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
