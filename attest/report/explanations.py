"""Every explanation of one text: attention beside what else might explain it, each a weight a token."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import TokenWeights
from attest.runs.folder import INSTANCES

TOP = 3
"""Tokens that are named under each explanation."""


@dataclass(frozen=True)
class Explanation:
    """One way to explain a text."""

    key: str
    """Experiment and column, ``E1/gradient_inputs``."""
    name: str
    kind: str
    """``attention``, ``importance`` or ``adversary``: what the weights are."""
    weights: np.ndarray
    """Float ``(T,)``, at least 0."""
    note: str = ""

    @cached_property
    def heat(self) -> np.ndarray:
        """Weights relative to the largest, in [0, 1]; all 0 where there is none."""
        weights = np.nan_to_num(self.weights)
        largest = weights.max(initial=0.0)
        return weights / largest if largest > 0 else weights

    @property
    def is_undefined(self) -> bool:
        """Whether it says nothing of this text, as leave-one-out of a text of one token."""
        return bool(np.isnan(self.weights).any())

    def top(self, tokens: Sequence[str]) -> list[tuple[str, float]]:
        """The heaviest tokens with their weights, those without any left out."""
        order = np.argsort(-self.weights, kind="stable")[:TOP]
        return [(tokens[place], float(self.weights[place])) for place in order if self.weights[place] > 0]


ATTENTION = f"{INSTANCES}/attention"


@cache
def _shown() -> dict[str, TokenWeights]:
    """Columns with one weight a token, by key, in the report's order."""
    specs = EXPERIMENTS.values()
    return {f"{spec.id}/{weights.column}": weights for spec in specs for weights in spec.weights}


@cache
def _wanted() -> frozenset[str]:
    """Columns that are shown, and those that the notes quote, by key."""
    quoted = (f"{key.split('/')[0]}/{column}" for key, weights in _shown().items() for column in weights.quotes)
    return frozenset((*_shown(), *quoted))


def joined(tables: Mapping[str, pd.DataFrame], attention_name: str = "Attention") -> pd.DataFrame:
    """The table of the texts with every explanation beside it, its columns named ``E1/gradient_inputs`` and so on.

    Args:
        tables: one row an instance, by experiment; ``instances`` among them.
        attention_name: what stands as attention: itself, or rollout in Transformers that pool by a mean.
    """
    rows = tables[INSTANCES].set_index("id", drop=False)
    rows = rows.assign(**{f"{INSTANCES}/attention": rows["attention"], "attention_name": attention_name})
    for experiment, table in tables.items():
        wanted = {f"{experiment}/{column}": column for column in table.columns}
        chosen = {key: column for key, column in wanted.items() if key in _wanted()}
        if experiment != INSTANCES and chosen and table["id"].is_unique:
            evidence = table.set_index("id")[list(chosen.values())]
            rows = rows.join(evidence.set_axis(list(chosen), axis=1))
    return rows


def explanations(row: Mapping[str, Any], in_detail: bool = False) -> list[Explanation]:
    """What is known of one text; swaps to the projection that was trained are left out.

    Args:
        row: one of ``joined``; without ``label`` where that is not known.
        in_detail: with those that are left out where many texts are shown.
    """
    return list(_explanations(row, in_detail))


def _explanations(row: Mapping[str, Any], in_detail: bool) -> Iterator[Explanation]:
    if _has_weights(row, ATTENTION):
        weights = np.asarray(row[ATTENTION], dtype=float)
        yield Explanation(ATTENTION, row.get("attention_name", "Attention"), "attention", weights)
    for key, shown in _shown().items():
        if _has_weights(row, key) and (in_detail or not shown.in_detail) and shown.is_shown(row):
            yield Explanation(key, shown.title, shown.kind, np.asarray(row[key], dtype=float), shown.note(row))


def _has_weights(row: Mapping[str, Any], key: str) -> bool:
    return isinstance(row.get(key), np.ndarray | list)
