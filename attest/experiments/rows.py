"""Tables with one row per instance, made from columns of tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.core.measures import probabilities
from attest.core.memory import to_numpy
from attest.models.layers_observed import LayerObservation, mean_over_rows
from attest.models.observation import Observation


def text_columns(observation: Observation, class_names: Sequence[str]) -> dict[str, Tensor]:
    """Return columns of the table of texts: the probability of each class, the attention and special tokens.

    Returns:
        ``(B,)``: ``probability_<class name>`` in [0, 1] and ``max_attention``. Per token ``(B, T)``: ``attention``, or the
        explanation that replaces it; ``special``, if there are tokens that are neither ranked nor erased; and ``word``, the
        number of each token's word, if texts are in subwords.
    """
    of_classes = _of_classes(observation)
    columns = {f"probability_{name}": of_classes[:, k] for k, name in enumerate(class_names)}
    if observation.spared is not None:
        columns["special"] = observation.spared
    if observation.words is not None:
        columns["word"] = observation.words
    return columns | {"max_attention": observation.explanation.amax(dim=-1), "attention": observation.explanation}


def _of_classes(observation: Observation | LayerObservation) -> Tensor:
    """Return the probability of each class, in float32 at least: of half-precision logits, as pipelines compute them."""
    logits = observation.logits.detach()
    return probabilities(logits.to(torch.promote_types(logits.dtype, torch.float32)))


BETWEEN = ("attention_within", "attention_between")
"""The names of two columns for pairs of texts, each in [0, 1]: the share of a token's attention that stays within its own
text, and the share that goes to the other text, as means."""


def between_texts(observation: LayerObservation, text_of: Tensor) -> dict[str, Tensor]:
    """Return how much attention the tokens of two paired texts give to their own and to the other text.

    Args:
        text_of: int64 ``(B, T)``: the text of each token, 0 or 1; below 0 for special tokens.
    Returns:
        The columns of ``BETWEEN``, ``(B,)`` in [0, 1]: means over layers, heads and tokens of the two texts. What
        is missing to 1 goes to special tokens.
    """
    text_of = text_of.to(observation.mask.device)
    rows = (text_of >= 0) & observation.mask
    own = (text_of.unsqueeze(-1) == text_of.unsqueeze(1)) & rows.unsqueeze(1)
    other = (text_of.unsqueeze(-1) != text_of.unsqueeze(1)) & rows.unsqueeze(1)

    def share(columns: Tensor) -> Tensor:
        given = ((each * columns.unsqueeze(1)).sum(dim=-1) for each in observation.attention.values())
        return torch.stack([mean_over_rows(each, rows.unsqueeze(1)) for each in given]).mean(dim=0)

    return dict(zip(BETWEEN, (share(own), share(other)), strict=True))


def tag_columns(observation: LayerObservation, names: Sequence[str]) -> dict[str, Tensor]:
    """Return columns of the table of tagged sentences: true and predicted tags, tag probabilities, attention.

    Args:
        names: of the K tags, in their order.
    Returns:
        ``(B,)``: ``max_attention``, the mean of the rows' largest weights; per token ``(B, T)``: ``tags``, ``predicted_tags``
        and ``probability_<tag>`` in [0, 1]; per pair of tokens ``(B, T, T, N)``: ``attention`` of all heads, those of the
        first layer first, the second T being what is attended to.
    """
    assert observation.labels is not None
    heads, of_tags = torch.cat(list(observation.attention.values()), dim=1), _of_classes(observation)
    return {
        "max_attention": observation.largest(list(observation.attention)),
        "tags": observation.labels,
        "predicted_tags": observation.predicted,
        **{f"probability_{name}": of_tags[..., k] for k, name in enumerate(names)},
        "attention": heads.permute(0, 2, 3, 1),
    }


def rows_of(columns: Mapping[str, Tensor], mask: Tensor) -> pd.DataFrame:
    """Return a table with one row per instance; values per token become lists without padding.

    Args:
        columns: ``(B,)``, ``(B, T)`` or ``(B, T, T, ...)``, by name.
        mask: bool ``(B, T)``, True at real tokens, which come first.
    """
    lengths = mask.sum(dim=-1).tolist()
    return pd.DataFrame({name: _column(to_numpy(values.cpu()), lengths) for name, values in columns.items()})


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Append tables to one another; a column that is bool in one table and a number in another becomes a number."""
    kinds = pd.concat([table.dtypes for table in tables], axis=1)
    mixed = kinds.index[kinds.eq(bool).any(axis=1) & ~kinds.eq(bool).all(axis=1)]
    return pd.concat([table.astype(dict.fromkeys(mixed, float)) for table in tables])


def _column(values: np.ndarray, lengths: list[int]) -> Any:
    if values.ndim == 1:
        return values
    if values.ndim == 2:
        return [row[:length] for row, length in zip(values, lengths, strict=True)]
    return [rows[:length, :length].ravel() for rows, length in zip(values, lengths, strict=True)]
