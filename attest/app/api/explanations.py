"""Explanations that somebody else made, SHAP values for example, as readings of a trial: one number a token.

Legend: N texts, T tokens, W words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.app.api.batches import Batch, texts_of
from attest.app.api.given import Given
from attest.core.errors import AttestError
from attest.datamodules.instances import FIRST, SECOND, TEXTS, TOKENS, first_of
from attest.datamodules.notice import say, some
from attest.experiments.readings.kinds import READINGS
from attest.models.observation import GivenReading

Explanations: TypeAlias = Mapping[str, Sequence[Any] | Callable[..., Any]] | pd.DataFrame | str | Path
"""By name, the numbers of each text, or a function that returns them; or a table with a column of texts, or its file."""
KEY = "explanation/{}"
"""Of a batch: an explanation by its name, float64 ``(B, T)``."""
NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
TEXTS_COMPARED = 100
"""E15's sample of texts, unless another is asked for: 12 are too few to tell which of two readings is better."""
UNITS = ("token", "token but the special ones", "word")
"""What a number of an explanation may be of."""
HOW = "For example: explanations={'shap': values}, where values has a list of numbers for each text, one a token or one a word"


class Units:
    """Which number of an explanation each token of a text gets: ``places`` int64 ``(T,)``, -1 for none, by unit.

    Args:
        text: one text, as ``texts_of`` returns it.
        spaced: the word of each token and the number of words, if they are known.
    """

    def __init__(self, text: Batch, spaced: tuple[list[int], int] | None) -> None:
        real = text["mask"].bool().cpu()
        length = int(real.sum())
        special = torch.zeros(length, dtype=torch.bool)
        if "word" in text:
            special = text["word"].cpu()[real] < 0
        elif "special" in text:
            special = text["special"].bool().cpu()[real]
        plain = torch.where(special, -1, (~special).cumsum(dim=0) - 1)
        self.width = len(real)
        self.places = {"token": (torch.arange(length), length), UNITS[1]: (plain, int((~special).sum()))}
        if spaced is not None:
            self.places["word"] = torch.tensor(spaced[0]), spaced[1]

    def spread(self, unit: str, numbers: np.ndarray) -> Tensor:
        """Return the number of each token, float64 ``(T,)``: those of a unit have equal shares, which add up to its number."""
        places, count = self.places[unit]
        shares = torch.bincount(places[places >= 0], minlength=count)[places]
        of_tokens = torch.from_numpy(numbers)[places] / shares
        padded = torch.zeros(self.width, dtype=torch.float64)
        padded[: len(places)] = of_tokens.masked_fill(places < 0, 0)
        return padded


def require_one_decision(batches: Sequence[Batch], of_others: bool) -> None:
    """Refuse explanations for what is no text of tokens with one decision.

    Args:
        batches: of a trial.
        of_others: whether the model decides of words, labels, choices or answers.
    Raises:
        AttestError: it does, or a text is a list of sentences.
    """
    if of_others or any(batch["token_ids"].ndim != 2 for batch in batches):
        raise AttestError(
            "explanations= holds one number a token of a text, and this model decides of words, labels, choices, answers or "
            "sentences; expected a model that decides of a text. Leave explanations out."
        )


def with_explanations(
    batches: Sequence[Batch], explanations: Explanations, read: Given, encode: Any
) -> tuple[list[Batch], dict[str, str]]:
    """Return batches that hold the explanations under ``KEY``, and by name what their numbers are of, in words.

    Args:
        batches: of a trial.
        explanations: as in ``attest.trial``.
        read: what the user gave.
        encode: what has read the texts.
    Raises:
        AttestError: an explanation has another name, other texts, another length or other numbers than it may.
    """
    named = _from_table(explanations, read) if isinstance(explanations, pd.DataFrame | str | Path) else explanations
    _require_names(named)
    texts = {int(text["id"]): text for batch in batches for text in texts_of(batch)}
    if {*texts} != {*range(len(texts))}:
        raise AttestError(
            "explanations= is taken by position, and the batches have ids of their own; expected ids from 0, in the order of "
            "the texts. Leave 'id' out of the batches."
        )
    units = [Units(texts[row], _spaced(read, encode, row)) for row in range(len(texts))]
    rows: dict[str, list[Tensor]] = {}
    said = {}
    for name, source in named.items():
        numbers = _called(name, source, batches, read) if callable(source) else list(source)
        rows[name], said[name] = _of_tokens(name, numbers, units)
        say(f"Explanation {name}: {said[name]}.")
    held = [
        batch | {KEY.format(name): torch.stack([each[row] for row in batch["id"].tolist()]) for name, each in rows.items()}
        for batch in batches
    ]
    return held, said


def given_in(batch: Batch, signed: Mapping[str, bool], device: torch.device) -> dict[str, GivenReading]:
    """Return the explanations of a batch by name.

    Args:
        batch: as ``with_explanations`` returns it.
        signed: by name, whether some numbers of the corpus are below 0.
        device: where they are needed.
    """
    return {name: GivenReading(batch[KEY.format(name)].to(device), sign) for name, sign in signed.items()}


def signs_of(batches: Sequence[Batch], names: Sequence[str]) -> dict[str, bool]:
    """Return by name whether an explanation has numbers below 0 anywhere."""
    return {name: any(bool((batch[KEY.format(name)] < 0).any()) for batch in batches) for name in names}


def _require_names(named: Any) -> None:
    if not isinstance(named, Mapping) or not named:
        raise AttestError(f"explanations= is a {type(named).__name__} without names; expected a dictionary. {HOW}")
    taken = {name.replace("-", "_") for name in [*READINGS, "oracle"]}
    columns = [str(name).replace("-", "_") for name in named]
    for name, column in zip(named, columns, strict=True):
        if not NAME.fullmatch(str(name)) or column.endswith("_signed") or "_and_" in column:
            raise AttestError(
                f"an explanation is called {name!r}; expected small letters, digits and hyphens, for it becomes a part of the "
                "names of columns, such as shap or my-method."
            )
        if column in taken or columns.count(column) > 1:
            raise AttestError(f"an explanation is called {name}, as another reading is; expected a name of its own.")


def _from_table(source: pd.DataFrame | str | Path, read: Given) -> dict[str, list[Any]]:
    """Return the explanations in the columns of a table, whose rows are found by their text."""
    table, what = source, "the table of explanations"
    if not isinstance(table, pd.DataFrame):
        what = str(source)
        if not Path(what).is_file():
            raise AttestError(f"there is no file {what}; expected a parquet file with a column of texts.")
        table = pd.read_parquet(what)
    if read.batched:
        raise AttestError(
            "explanations are found in a table by their text, and the data are token ids; expected texts, or a dictionary: "
            "explanations={'shap': values}"
        )
    names = [*map(str, table.columns)]
    second = first_of(SECOND, names) if any(isinstance(each, tuple) for each in read.items) else None
    text = first_of((*FIRST, *TEXTS) if second else (*TEXTS, *FIRST, *TOKENS), names)
    if text is None:
        raise AttestError(
            f"{what} has the columns {some(names)}, and none of them is called as texts are; expected a column text, by which "
            "the numbers are found."
        )
    columns = [name for name in names if name not in (text, second) and _has_numbers(table[name])]
    if not columns:
        raise AttestError(
            f"{what} has the columns {some(names)}, and none holds lists of numbers; expected a column for each explanation, "
            "one number a token or a word."
        )
    if unread := [name for name in names if name not in (text, second, *columns)]:
        say(f"Read from {what}: {', '.join(columns)}. Not read: {some(unread)}.")
    keys = [_key(each) for each in (zip(table[text], table[second], strict=True) if second else table[text])]
    rows: dict[Any, int] = {}
    for row, key in enumerate(keys):
        first = rows.setdefault(key, row)
        if any(not np.array_equal(table[name].iloc[first], table[name].iloc[row]) for name in columns):
            raise AttestError(f"{what} has the text {_short(key)!r} twice, with other numbers; expected one row a text.")
    wanted = [_key(each) for each in read.items]
    if missing := [key for key in wanted if key not in rows]:
        raise AttestError(
            f"{what} has no row for {len(missing)} of {len(wanted)} texts, the first of which is {_short(missing[0])!r}; "
            "expected every text that is tried, letter by letter."
        )
    return {name: [table[name].iloc[rows[key]] for key in wanted] for name in columns}


def _has_numbers(column: pd.Series) -> bool:
    first = column.iloc[0] if len(column) else None
    return isinstance(first, list | tuple | np.ndarray) and len(first) > 0 and not isinstance(first[0], str)


def _key(text: Any) -> Any:
    return text if isinstance(text, str) else tuple(text)


def _short(key: Any) -> str:
    return (key if isinstance(key, str) else " ".join(key))[:40]


def _spaced(read: Given, encode: Any, row: int) -> tuple[list[int], int] | None:
    """Return the word of each token of a text and its number of words; None if the tokenizer is not of transformers."""
    known = getattr(encode, "spaced_of", None)
    if known is None or read.batched or read.tokenized:
        return None
    text = read.items[row]
    count = (
        len(text) if isinstance(text, list) else sum(len(part.split()) for part in ([text] if isinstance(text, str) else text))
    )
    return known(text), count


def _called(name: str, function: Callable[..., Any], batches: Sequence[Batch], read: Given) -> list[Any]:
    """Return what a function says of each text; it gets the texts of a batch, or its token ids and mask if ids were given."""
    found: dict[int, Any] = {}
    for batch in batches:
        rows = batch["id"].tolist()
        if read.batched or read.tokenized:
            values: Any = function({"token_ids": batch["token_ids"], "mask": batch["mask"]})
            lengths = batch["mask"].sum(dim=-1).tolist()
        else:
            values = function([read.items[row] for row in rows])
            lengths = None
        values = values.detach().cpu() if isinstance(values, Tensor) else values
        if not hasattr(values, "__len__") or len(values) != len(rows):
            there = len(values) if hasattr(values, "__len__") else type(values).__name__
            raise AttestError(
                f"the function {name} of explanations= returned {there} for a batch of {len(rows)} texts; expected a list of "
                "numbers for each."
            )
        found |= zip(rows, values if lengths is None else map(lambda row, n: row[:n], values, lengths), strict=True)
    return [found[row] for row in range(len(found))]


def _of_tokens(name: str, numbers: Sequence[Any], units: Sequence[Units]) -> tuple[list[Tensor], str]:
    """Return the numbers of the tokens of each text, and what an explanation's numbers are of, in words."""
    if len(numbers) != len(units):
        raise AttestError(f"the explanation {name} has {len(numbers)} rows for {len(units)} texts; expected one for each.")
    values = [_row(name, row, each) for row, each in enumerate(numbers)]
    fitting = [
        unit
        for unit in UNITS
        if all(unit in text.places and len(each) == text.places[unit][1] for each, text in zip(values, units, strict=True))
    ]
    if not fitting:
        _refuse_lengths(name, values, units)
    unit = fitting[0]
    if any(not torch.equal(text.places[unit][0], text.places[other][0]) for text in units for other in fitting[1:]):
        raise AttestError(
            f"the explanation {name} may have one number a {unit} or one a {fitting[-1]}: every text has as many of both, and "
            "they are not the same; expected one a token, special ones included."
        )
    places = [text.places[unit] for text in units]
    read = [len(where[where >= 0].unique()) for where, _ in places]
    lost = sum(count for _, count in places) - sum(read)
    said = f"one number a {unit}"
    if unit == "word" and any(int((where >= 0).sum()) > words for (where, _), words in zip(places, read, strict=True)):
        said += ", in equal shares to its subwords"
    if lost:
        said += f"; {lost} words that the model does not read are left out"
    return [text.spread(unit, each) for text, each in zip(units, values, strict=True)], said


def _row(name: str, row: int, numbers: Any) -> np.ndarray:
    try:
        values = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim != 1:
        raise AttestError(f"the explanation {name} of text {row} is {str(numbers)[:40]!r}; expected a list of numbers.")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise AttestError(
            f"the explanation {name} of text {row} is {values[place]} at place {place}; expected finite numbers. Leave out "
            "the text, or say 0 of what is not important."
        )
    return values


def _refuse_lengths(name: str, values: Sequence[np.ndarray], units: Sequence[Units]) -> None:
    """Refuse an explanation whose numbers are of no one unit in all texts, by the text that fits worst."""
    fits = {
        unit: [unit in text.places and len(each) == text.places[unit][1] for each, text in zip(values, units, strict=True)]
        for unit in UNITS
    }
    nearest = max(UNITS, key=lambda unit: sum(fits[unit]))
    row = fits[nearest].index(False)
    ways = " or ".join(f"{count} (one a {unit})" for unit, (_, count) in units[row].places.items())
    others = f" {sum(fits[nearest])} of {len(units)} texts have one number a {nearest}." if any(fits[nearest]) else ""
    raise AttestError(
        f"the explanation {name} of text {row} has {len(values[row])} numbers; expected {ways}, the same for all "
        f"texts.{others}"
    )
