"""Some of the texts of a trial, as batches of their own.

Legend: B batch, T tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from attest.api.batches import Batch
from attest.errors import AttestError


def batches_of_ids(batches: Sequence[Batch], ids: Sequence[int], batch_size: int) -> list[Batch]:
    """Some texts as batches of like length.

    Args:
        batches: of all texts.
        ids: of those that are wanted.
        batch_size: largest batch.
    Raises:
        AttestError: texts are made of sentences.
    """
    if any(batch["token_ids"].ndim > 2 for batch in batches):
        raise AttestError("the stopping rule reads texts of tokens, and these texts are lists of sentences; leave until out.")
    wanted = set(ids)
    texts = [(batch, row) for batch in batches for row, identity in enumerate(batch["id"].tolist()) if identity in wanted]
    texts.sort(key=lambda text: int(text[0]["mask"][text[1]].sum()))
    return [_batch(texts[start : start + batch_size]) for start in range(0, len(texts), batch_size)]


def in_rows(batch: Batch, rows: int) -> list[Batch]:
    """A batch in parts of at most so many texts."""
    texts = [(batch, row) for row in range(len(batch["id"]))]
    if len(texts) <= rows:
        return [batch]
    return [_batch(texts[start : start + rows]) for start in range(0, len(texts), rows)]


def _batch(texts: Sequence[tuple[Batch, int]]) -> Batch:
    longest = max(int(batch["mask"][row].nonzero().max()) + 1 for batch, row in texts)

    def together(name: str) -> Any:
        values = [batch[name][row] for batch, row in texts]
        if not isinstance(values[0], torch.Tensor):
            return values
        return (
            torch.stack(values) if not values[0].ndim else pad_sequence([each[:longest] for each in values], batch_first=True)
        )

    return {name: together(name) for name in texts[0][0]}
