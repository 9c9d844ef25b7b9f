"""Every explanation of one text: attention beside what else might explain it, each a weight a token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attest.report.numbers import number
from attest.runs.folder import INSTANCES

TOP = 3
"""Tokens that are named under each explanation."""
SAME = 1e-6
"""JSD below which a swapped projection is the trained one."""


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

    @property
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


PER_TOKEN = {
    "instances/attention": ("Attention", "attention"),
    "E1/gradient_inputs": ("Gradient × input", "importance"),
    "E1/leave_one_out_inputs": ("Leave-one-out", "importance"),
    "E1/gradient_norm_inputs": ("Gradient norm", "importance"),
    "E1/gradient_norm_hidden": ("Gradient norm, hidden states", "importance"),
    "E1/leave_one_out_hidden": ("Leave-one-out, hidden states", "importance"),
    "E3/adversary": ("Another attention, same prediction", "adversary"),
    "E8/attention_softmax": ("Swapped to softmax", "attention"),
    "E8/attention_sparsemax": ("Swapped to sparsemax", "attention"),
    "E8/attention_entmax15": ("Swapped to 1.5-entmax", "attention"),
}
"""Columns with one weight a token, by experiment and name: how they are called and what they are; in the report's order."""
IN_DETAIL = ("E1/gradient_norm_inputs", "E1/gradient_norm_hidden", "E1/leave_one_out_hidden")
"""Left out where many texts are shown."""
BESIDE = re.compile(r"E1/tau_\w+|E3/(jsd_exact|tvd_exact)|E8/(jsd|tvd|correct|kept)(_\w+)?")
"""Columns with one number a text that the notes quote."""


def joined(tables: Mapping[str, pd.DataFrame], attention_name: str = "Attention") -> pd.DataFrame:
    """The table of the texts with every explanation beside it, its columns named ``E1/gradient_inputs`` and so on.

    Args:
        tables: one row an instance, by experiment; ``instances`` among them.
        attention_name: what stands as attention: itself, or rollout in Transformers that pool by a mean.
    """
    rows = tables[INSTANCES].set_index("id", drop=False)
    rows = rows.assign(**{f"{INSTANCES}/attention": rows["attention"], "attention_name": attention_name})
    for identity, table in tables.items():
        wanted = {f"{identity}/{column}": column for column in table.columns}
        chosen = {key: column for key, column in wanted.items() if key in PER_TOKEN or BESIDE.fullmatch(key)}
        if identity != INSTANCES and chosen and table["id"].is_unique:
            evidence = table.set_index("id")[list(chosen.values())]
            rows = rows.join(evidence.set_axis(list(chosen), axis=1))
    return rows


def explanations(row: Mapping[str, Any], in_detail: bool = False) -> list[Explanation]:
    """What is known of one text; swaps to the projection that was trained are left out.

    Args:
        row: one of ``joined``; without ``label`` where that is not known.
        in_detail: with those of ``IN_DETAIL``.
    """
    return list(_explanations(row, in_detail))


def _explanations(row: Mapping[str, Any], in_detail: bool) -> Iterator[Explanation]:
    for key, (name, kind) in PER_TOKEN.items():
        weights = row.get(key)
        left_out = key in IN_DETAIL and not in_detail
        if left_out or not isinstance(weights, np.ndarray | list) or _is_trained(row, key):
            continue
        called = row.get("attention_name", name) if key == f"{INSTANCES}/attention" else name
        yield Explanation(key, called, kind, np.asarray(weights, dtype=float), _note(row, key))


def _is_trained(row: Mapping[str, Any], key: str) -> bool:
    projection = key.removeprefix("E8/attention_")
    return projection != key and row[f"E8/jsd_{projection}"] < SAME and row[f"E8/tvd_{projection}"] < SAME


def _note(row: Mapping[str, Any], key: str) -> str:
    if key.startswith("E1/"):
        return f"τ-b with {str(row.get('attention_name', 'attention')).lower()} {number(row.get(f'E1/tau_{key[3:]}'))}"
    if key == "E3/adversary":
        return f"JSD {number(row['E3/jsd_exact'])} to attention, moves the prediction by {number(row['E3/tvd_exact'])}"
    projection = key.removeprefix("E8/attention_")
    if projection == key:
        return ""
    before, after = _decided(row, projection)
    moved = f"JSD {number(row[f'E8/jsd_{projection}'])}, moves the prediction by {number(row[f'E8/tvd_{projection}'])}"
    if before == after:
        return moved
    return f"{moved}; now decided {'rightly' if after else 'wrongly'}" if "label" in row else f"{moved}; the decision changes"


def _decided(row: Mapping[str, Any], projection: str) -> tuple[bool, bool]:
    """Whether the text is decided rightly, as trained and swapped; without labels, whether the decision is the trained one."""
    if "E8/correct" in row:
        return bool(row["E8/correct"]), bool(row[f"E8/correct_{projection}"])
    return True, bool(row[f"E8/kept_{projection}"])
