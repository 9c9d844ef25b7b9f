"""Random samples of texts, the same however the texts are dealt out to batches and processes.

Legend: B batch, N all texts.
"""

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.randomness import random_bits

Everyone = Tensor | int | None
"""All texts, of which a sample is taken: their ids, int64 ``(N,)``; N where only their number is known; None if that is
not known either."""


def sample_of_ids(seed: int, ids: Tensor, size: int) -> Tensor:
    """Return the ids with the smallest hashes, int64 ``(size,)``, or all ids if there are fewer.

    Args:
        seed: of the run.
        ids: int64 ``(N,)``, all there are.
        size: of the sample.
    """
    return ids[random_bits(seed, ids).argsort()[:size]]


def in_sample(seed: int, ids: Tensor, everyone: Everyone, size: int) -> Tensor:
    """Return which texts of a batch belong to the sample, bool ``(B,)``.

    Args:
        seed: of the run.
        ids: int64 ``(B,)``, of the batch.
        everyone: all texts. If only their number is known, every text is drawn with probability size / N, and the sample
            has about this size.
        size: of the sample.
    Raises:
        AttestError: nobody knows how many texts there are.
    """
    if everyone is None:
        raise AttestError(
            f"a sample of {size} texts needs to know how many there are, and the data set has no length; expected a data set "
            "that has one."
        )
    if isinstance(everyone, int):
        return random_bits(seed, ids).double() < (2 * min(size / everyone, 1.0) - 1) * 2.0**63
    return torch.isin(ids, sample_of_ids(seed, everyone, size))


def among(column: Tensor, rows: Tensor, size: int) -> Tensor:
    """Return a column ``(size,)`` with the numbers of some texts, ``(len(rows),)``, at their rows and NaN at all others."""
    return column.new_full((size,), torch.nan).index_copy(0, rows, column)
