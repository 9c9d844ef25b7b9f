"""Random samples of texts that are the same for every batch size and number of processes.

Legend: B batch, N all texts.
"""

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.randomness import random_bits, stream

Everyone = Tensor | int | None
"""All texts of a corpus, from which a random sample is drawn: their ids, int64 ``(N,)``, or only their number N; None if not
even the number is known."""


def reading_order(ids: Tensor, seed: int) -> Tensor:
    """Return ids ``(N,)`` in the random order in which texts are read where not all of them need be."""
    return sample_of_ids(stream(seed, "order of the texts"), ids, len(ids))


def among_first(seed: int, ids: Tensor, everyone: Everyone, size: int) -> Tensor:
    """Return which texts of a batch are among the first of ``reading_order``, bool ``(B,)``; arguments as in ``in_sample``."""
    return in_sample(stream(seed, "order of the texts"), ids, everyone, size)


def sample_of_ids(seed: int, ids: Tensor, size: int) -> Tensor:
    """Return a random sample of ids ``(N,)``, int64 ``(size,)``; all ids if N is smaller."""
    return ids[random_bits(seed, ids).argsort()[:size]]


def in_sample(seed: int, ids: Tensor, everyone: Everyone, size: int) -> Tensor:
    """Return which texts of a batch are in a random sample of all texts, bool ``(B,)``.

    Args:
        ids: int64 ``(B,)``, of the batch.
        everyone: all texts. If only their number is known, every text is drawn with probability size / N, and the sample
            has about this size.
    Raises:
        AttestError: the number of all texts is unknown.
    """
    if everyone is None:
        raise AttestError(
            f"a sample of {size} texts cannot be drawn, because the data set has no length; expected a data set with the "
            "method __len__."
        )
    if isinstance(everyone, int):
        return random_bits(seed, ids).double() < (2 * min(size / everyone, 1.0) - 1) * 2.0**63
    return torch.isin(ids, sample_of_ids(seed, everyone, size))


def among(column: Tensor, rows: Tensor, size: int) -> Tensor:
    """Return a column ``(size,)`` with given numbers at given rows and NaN at all other rows."""
    return column.new_full((size,), torch.nan).index_copy(0, rows, column)
