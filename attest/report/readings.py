"""The readings of one model beside one another in a table: of a run as means, of one text with the tokens they rank first."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import torch

from attest.core.measures import top_k_overlap
from attest.core.measures.numbers import number
from attest.experiments.readings.compared import SURVIVAL, title_of

SIGNED = "_signed"
FIRST = 3
"""Tokens that are named of each reading of a text."""
SCORES = {
    "random sets beaten": SURVIVAL[0],
    "… text shortened": SURVIVAL[1],
    "NAOPC": "naopc_comprehensiveness",
    "P@k": "precision",
    "depth": "depth",
    "AUPRC": "auprc",
}
"""Headings, and the beginnings of E15's columns."""
AGREEMENT, SHARED = "τ-b with attention", f"first {FIRST} shared"
SECONDS, RANKED_FIRST = "seconds a text", "ranked first"
LEGEND = (
    "Random sets beaten: share of random sets of as many tokens that move the prediction less, nothing attending to them, or "
    "the text shortened; 0.5 is chance. NAOPC: place between the sets that move it least, 0, and most, 1. τ-b with attention: "
    "whether both order the tokens alike, by magnitude."
)
ABOUT_SHARED = (
    f"First {FIRST} shared: of the {FIRST} tokens with the most attention, the share that the reading has among its {FIRST} "
    "first, too; tokens that tie share a place. Special tokens such as [CLS] count, where a text has any."
)
ABOUT_SIGNED = "Signed readings rank tokens by how much they speak for the predicted class, the others by magnitude."
ABOUT_TRUTH = (
    "Where it is known which tokens decide: P@k, share of them among as many tokens ranked first; depth, share of the text "
    "down to the last of them; AUPRC, average precision."
)


@dataclass(frozen=True)
class Table:
    """Cells as text."""

    header: list[str]
    rows: list[list[str]]
    has_signed: bool = False

    @property
    def legend(self) -> str:
        """What the columns and rows mean."""
        said = {
            LEGEND: True,
            ABOUT_SHARED: SHARED in self.header,
            ABOUT_SIGNED: self.has_signed,
            ABOUT_TRUTH: "P@k" in self.header,
        }
        return " ".join(sentence for sentence, is_said in said.items() if is_said)


def of_run(rows: pd.DataFrame, seconds: Mapping[str, float] | None = None) -> Table | None:
    """Means over the sampled texts, the reading that survived best first; None without any.

    Args:
        rows: the table of E15.
        seconds: a text, by name of the reading; None where that was not measured.
    """
    means = {name: float(rows[name].mean()) for name in rows if pd.api.types.is_numeric_dtype(rows[name])}
    return _table(means, {SECONDS: _seconds(seconds or {})})


def of_text(row: Mapping[str, Any], tokens: Sequence[str]) -> Table | None:
    """Of one text, by magnitude, with the tokens that each reading ranks first; None where the text has no such numbers.

    Args:
        row: with the columns of E15 as ``E15/<column>``, weights of tokens among them.
        tokens: the words.
    """
    own = {name.removeprefix("E15/"): value for name, value in row.items() if name.startswith("E15/")}
    numbers = {name: float(value) for name, value in own.items() if isinstance(value, int | float) and SIGNED not in name}
    weights = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
    weights["attention"] = np.asarray(row.get("instances/attention", ()))
    known = {name: each for name, each in weights.items() if len(each) == len(tokens) and not np.isnan(each).any()}
    beside = {
        SHARED: lambda reading: _shared(known.get("attention"), known.get(reading)),
        RANKED_FIRST: lambda reading: _ranked_first(known.get(reading), tokens),
    }
    return _table(numbers, beside)


def _table(values: Mapping[str, float], beside: Mapping[str, Any]) -> Table | None:
    readings = sorted(_readings(values), key=lambda reading: -_survived(values, reading))
    if not readings:
        return None
    scores = {title: column for title, column in SCORES.items() if any(f"{column}_{each}" in values for each in readings)}
    columns = {title: [_cell(values.get(f"{column}_{each}")) for each in readings] for title, column in scores.items()}
    columns[AGREEMENT] = [_cell(_agreement(values, each)) for each in readings]
    columns |= {title: [cell(each) for each in readings] for title, cell in beside.items()}
    shown = {title: cells for title, cells in columns.items() if {*cells} != {EMPTY}}
    body = [[title_of(each), *(cells[place] for cells in shown.values())] for place, each in enumerate(readings)]
    return Table(["reading", *shown], body, SIGNED in "".join(readings))


def _readings(values: Mapping[str, float]) -> Iterator[str]:
    """By the ends of their columns; those without a number are left out."""
    first = f"{SURVIVAL[0]}_"
    yield from (name.removeprefix(first) for name, value in values.items() if name.startswith(first) and not math.isnan(value))


def _survived(values: Mapping[str, float], reading: str) -> float:
    """What the sentence below the table names the best by (``attest.report.survival``)."""
    return mean(values.get(f"{column}_{reading}", 0.0) for column in SURVIVAL)


def _agreement(values: Mapping[str, float], reading: str) -> float | None:
    """A magnitude's; of a signed ranking, which is compared by erasure alone, None."""
    return 1.0 if reading == "attention" else values.get(f"tau_attention_and_{reading}")


EMPTY = "–"


def _cell(value: float | None) -> str:
    return EMPTY if value is None or math.isnan(value) else number(value)


def _seconds(measured: Mapping[str, float]) -> Any:
    """Both rankings by one reading take what the reading takes."""

    def cell(reading: str) -> str:
        value = measured.get(reading.removesuffix(SIGNED).replace("_", "-"))
        return EMPTY if value is None else f"{value:.2g}"

    return cell


def _shared(attention: np.ndarray | None, weights: np.ndarray | None) -> str:
    """Of the first tokens of attention, the share that are among the first of a reading."""
    if attention is None or weights is None:
        return EMPTY
    ours, theirs = (torch.from_numpy(np.asarray(each, dtype=float)).unsqueeze(0) for each in (attention, weights))
    return _cell(float(top_k_overlap(ours, theirs, FIRST, torch.ones_like(ours, dtype=torch.bool))))


def _ranked_first(weights: np.ndarray | None, tokens: Sequence[str]) -> str:
    if weights is None:
        return EMPTY
    return ", ".join(tokens[place] for place in np.argsort(-weights, kind="stable")[:FIRST])
