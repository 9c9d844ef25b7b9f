"""Read explanations that other software computed, such as SHAP values, with one number for each token.

Legend: N texts, T tokens, W words.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.app.api.batches import Batch
from attest.app.api.beside import Units, columns_by_text, is_missing, of_tokens
from attest.core.errors import AttestError
from attest.datamodules.notice import say
from attest.experiments.readings.kinds import READINGS
from attest.models.observation import GivenReading

Explanations: TypeAlias = Mapping[str, Sequence[Any] | Callable[..., Any]] | pd.DataFrame | str | Path
"""Explanations that the user gives. Either a mapping: the key is the name of an explanation, and the value has for each text
one number for each token or word, or is a function that computes these numbers. Or a table, or the path of a file with one: a
column of texts, and a column for each explanation."""
KEY = "explanation/{}"
"""The key of a batch's entry with one explanation that the user gave, float64 ``(B, T)``; the name of the explanation replaces
``{}``."""
NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
TEXTS_COMPARED = 100
"""The number of texts on which experiment E15 compares explanations if the user gave explanations or marks of words. The
default of E15, 12 texts, is too small to tell which of two explanations is better."""
HOW = (
    "For example: explanations={'shap': values}, where values has a list for each text, with one number for each token or "
    "each word"
)


def require_one_decision(option: str, batches: Sequence[Batch], of_others: bool) -> None:
    """Refuse the option ``explanations`` or ``rationales`` if the model makes several decisions about a text."""
    if of_others or any(batch["token_ids"].ndim != 2 for batch in batches):
        raise AttestError(
            f"{option}= needs one decision for each text, and this model makes several (about words, labels, choices, answers "
            f"or sentences); expected a model that classifies texts. Leave {option}= out."
        )


def with_explanations(
    batches: Sequence[Batch], explanations: Explanations, units: Sequence[Units]
) -> tuple[list[Batch], dict[str, str]]:
    """Return batches with the user's explanations, and the form of each, such as ``one number for each word``."""
    named = explanations
    if isinstance(named, pd.DataFrame | str | Path):
        named = columns_by_text(named, units, _has_numbers, "lists of numbers")
    _require_names(named)
    rows: dict[str, list[Tensor]] = {}
    said = {}
    for name, source in named.items():
        numbers = _called(name, source, batches, units) if callable(source) else _listed(name, source)
        if len(numbers) != len(units):
            raise AttestError(
                f"the explanation {name!r} has {len(numbers)} rows for {len(units)} texts; expected one row for each text."
            )
        rows[name], said[name] = of_tokens(f"the explanation {name}", range(len(units)), numbers, units)
        say(f"Explanation {name}: {said[name]}.")
    held = [
        batch | {KEY.format(name): torch.stack([each[row] for row in batch["id"].tolist()]) for name, each in rows.items()}
        for batch in batches
    ]
    return held, said


def given_in(batch: Batch, signed: Mapping[str, bool], device: torch.device) -> dict[str, GivenReading]:
    """Return the user's explanations of the texts in a batch as a dictionary by explanation name."""
    return {name: GivenReading(batch[KEY.format(name)].to(device), sign) for name, sign in signed.items()}


def signs_of(batches: Sequence[Batch], names: Sequence[str]) -> dict[str, bool]:
    """Return for each explanation name whether the explanation contains a number below 0."""
    return {name: any(bool((batch[KEY.format(name)] < 0).any()) for batch in batches) for name in names}


def _require_names(named: Any) -> None:
    if not isinstance(named, Mapping) or not named:
        raise AttestError(
            f"explanations= is a {type(named).__name__}, so the explanations have no names; expected a dictionary. {HOW}"
        )
    taken = {name.replace("-", "_") for name in [*READINGS, "oracle"]}
    columns = [str(name).replace("-", "_") for name in named]
    for name, column in zip(named, columns, strict=True):
        if not NAME.fullmatch(str(name)) or column.endswith("_signed") or "_and_" in column:
            raise AttestError(
                f"an explanation is called {name!r}; expected a name of small letters, digits and hyphens, such as 'shap' or "
                "'my-method', because names of columns contain it."
            )
        if column in taken or columns.count(column) > 1:
            raise AttestError(f"the name {name!r} already belongs to another explanation; expected a new name.")


def _listed(name: str, source: Any) -> list[Any]:
    if isinstance(source, str | bytes | Mapping | Set | pd.DataFrame) or not isinstance(source, Iterable):
        raise AttestError(
            f"the explanation {name!r} is a {type(source).__name__}; expected a list with one row for each text, in their "
            f"order. {HOW}"
        )
    return list(source)


def _has_numbers(_name: str, column: pd.Series) -> bool:
    first = next((cell for cell in column if not is_missing(cell)), None)
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 0 and not isinstance(first[0], str)


def _called(name: str, function: Callable[..., Any], batches: Sequence[Batch], units: Sequence[Units]) -> list[Any]:
    """Call a user's function on texts, or on token ids, mask and any token types, and return its numbers for each text."""
    found: dict[int, Any] = {}
    for batch in batches:
        rows = batch["id"].tolist()
        texts = [units[row].written for row in rows]
        if None in texts:
            values: Any = function({name: batch[name] for name in ("token_ids", "mask", "token_type_ids") if name in batch})
            lengths = batch["mask"].sum(dim=-1).tolist()
        else:
            values = function(texts)
            lengths = None
        values = values.detach().cpu() if isinstance(values, Tensor) else values
        there = len(values) if isinstance(values, Sized) else type(values).__name__
        if there != len(rows):
            raise AttestError(
                f"the function {name!r} in explanations= returned {there} for a batch of {len(rows)} texts; expected one list "
                "of numbers for each text."
            )
        found |= zip(rows, values if lengths is None else map(lambda row, n: row[:n], values, lengths), strict=True)
    return [found[row] for row in range(len(found))]
