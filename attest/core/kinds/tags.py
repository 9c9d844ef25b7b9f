"""A tag for each word."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attest.core.kinds.kind import Kind, Scored

if TYPE_CHECKING:
    import pandas as pd
    import torch


def tag_counts(rows: "pd.DataFrame", names: Sequence[str]) -> "tuple[torch.Tensor, torch.Tensor]":
    """Count the correct, predicted and true chunks, and the same of tags, in each of N sentences, int64 ``(N, 3)`` both.

    Args:
        rows: one row for each sentence: ``tags``, ``predicted_tags``.
        names: the tags in the order of their ids.
    """
    import numpy as np
    import torch
    from torch.nn.utils.rnn import pad_sequence

    from attest.core.measures.chunks import chunk_counts, of_scheme, token_counts

    def padded(column: str) -> torch.Tensor:
        tags = [torch.from_numpy(np.array(each, dtype=np.int64)) for each in rows[column]]
        return pad_sequence(tags, batch_first=True, padding_value=-1)  # -1 is the gold tag of a token that is no word

    predicted, gold = padded("predicted_tags"), padded("tags")
    return of_scheme(chunk_counts(predicted, gold, names)), token_counts(predicted, gold, names)


def of_tags(rows: "pd.DataFrame", names: Sequence[str]) -> Scored:
    """Compute the intervals of the F1 of chunks and of tags, over sentences."""
    from attest.core.measures.score_intervals import f1_interval

    chunks, tokens = tag_counts(rows, names)
    counts = {"chunk_f1": chunks.numpy(), "token_f1": tokens.numpy()}
    bounds = {name: f1_interval(each[:, :1], each[:, 1:].sum(axis=1, keepdims=True)) for name, each in counts.items()}
    return Scored(len(rows), bounds)


TAGS = Kind(
    "tags", of_tags, table="tagged", unit="sentence", label="tags", predicted="predicted_tags", right=False,
    head="ForTokenClassification", loaded_as="tokens", names=2, own=True,
)  # fmt: skip
