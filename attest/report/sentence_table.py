"""The table of the sentences of a tagger, and the sentences that a reader can open from it, as plain data for the script of
the page.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence

from attest.core.measures.chunks import chunk_counts, has_chunks, of_scheme
from attest.report.instance_table import (
    ROWS,
    Column,
    cells,
    columns_of,
    evenly,
    excerpt,
    of_experiments,
    of_measures,
    right_share,
    whole_texts,
)

COLUMNS = (
    Column("tagged/right", "right", "Share of its words that are tagged rightly."),
    Column("tagged/chunk_f1", "F1 of chunks", "Of whole chunks: first word, last word and kind must be right."),
    Column("tagged/words", "words", "Words that have a tag."),
    Column("tagged/max_attention", "max α", "The largest attention weight of a word, mean over words, heads and layers."),
)
"""The columns of the sentences themselves; the first says whether a sentence is tagged correctly."""
PADDING = -1
"""The gold tag of a token that is no word."""


def sentence_table(rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> dict[str, Any]:
    """Return the data of the table of sentences that the script of the page needs.

    Args:
        rows: one row for each sentence: ``id``, ``tokens``, ``tags``, ``predicted_tags``, ``max_attention``.
        tables: the tables of experiments, whose measures are joined by ``id``.
        names: the names of the tags, in their order.
    Returns:
        The result of ``instance_table`` with ``tagging``; rows have no label and no prediction; texts have the predicted and
        the gold tag of each token, None if the token is no word.
    """
    rows = rows.set_index("id", drop=False).assign(**_of_sentences(rows, names), **of_experiments(tables))
    shown, described = columns_of(rows, (*COLUMNS, *of_measures()))
    part = evenly(rows, ROWS).to_dict("records")
    return described | {
        "tagging": True,
        "classes": list(names),
        "rows": [[int(row["id"]), excerpt(row["tokens"]), *cells(row, shown)] for row in part],
        "texts": whole_texts(pd.DataFrame(part).sort_values("tagged/right"), _whole),
    }


def _of_sentences(rows: pd.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    known = {
        "tagged/right": right_share(rows),
        "tagged/words": np.array([(np.asarray(tags) >= 0).sum() for tags in rows["tags"]]),
        "tagged/max_attention": rows["max_attention"].to_numpy() if "max_attention" in rows else None,
        "tagged/chunk_f1": _chunk_f1(rows, names) if has_chunks(names) else None,
    }
    return {key: values for key, values in known.items() if values is not None}


def _chunk_f1(rows: pd.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Return the chunk F1 of each sentence, float64 ``(N,)``; NaN if it has no chunk and none is predicted."""
    predicted, gold = (_padded(rows[column]) for column in ("predicted_tags", "tags"))
    correct, claimed, true = of_scheme(chunk_counts(predicted, gold, names)).double().unbind(dim=-1)
    found: np.ndarray = (2 * correct / (claimed + true)).numpy()
    return found


def _padded(tags: pd.Series) -> torch.Tensor:
    rows = [torch.from_numpy(np.array(each, dtype=np.int64)) for each in tags]
    return pad_sequence(rows, batch_first=True, padding_value=PADDING)


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    pairs = zip(row["predicted_tags"], row["tags"], strict=True)
    tags = [None if gold < 0 else [int(predicted), int(gold)] for predicted, gold in pairs]
    return {"tokens": list(row["tokens"]), "tags": tags}
