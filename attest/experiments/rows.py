"""From columns of tensors to a table with one row per instance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from attest.experiments.observation import Observation


def text_columns(observation: Observation, class_names: Sequence[str]) -> dict[str, Tensor]:
    """What stands in the table of the texts themselves, beside their tokens.

    Args:
        observation: the batch.
        class_names: K of them, in class order.
    Returns:
        ``(B,)``: ``probability_<class name>`` in [0, 1] and ``max_attention``; per token ``(B, T)``: ``attention``, or what
        is read instead of it.
    """
    columns = {f"probability_{name}": observation.probabilities[:, k] for k, name in enumerate(class_names)}
    return columns | {"max_attention": observation.explanation.amax(dim=-1), "attention": observation.explanation}


def rows_of(columns: Mapping[str, Tensor], mask: Tensor) -> pd.DataFrame:
    """One row per instance; values of tokens become a list as long as the text, of pairs of tokens its square, row by row.

    Args:
        columns: ``(B,)``, ``(B, T)`` or ``(B, T, T, ...)``, by name.
        mask: bool ``(B, T)``, True at real tokens, which come first.
    """
    lengths = mask.sum(dim=-1).tolist()
    return pd.DataFrame({name: _column(values.detach().cpu().numpy(), lengths) for name, values in columns.items()})


def _column(values: np.ndarray, lengths: list[int]) -> Any:
    if values.ndim == 1:
        return values
    if values.ndim == 2:
        return [row[:length] for row, length in zip(values, lengths, strict=True)]
    return [rows[:length, :length].ravel() for rows, length in zip(values, lengths, strict=True)]
