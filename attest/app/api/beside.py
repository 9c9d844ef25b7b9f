"""Read the numbers that a user gives for each token or word of a text, as explanations or as human marks.

Legend: T tokens.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.app.api.batches import Batch, encoder_in, texts_of
from attest.app.api.given import Given
from attest.core.errors import AttestError
from attest.datamodules.forms import FIRST_NAMES, SECOND_NAMES, TEXT_NAMES, TOKEN_NAMES, first_of
from attest.datamodules.notice import say, some
from attest.datamodules.sources import read_parquet

UNITS = ("token", "token that is not special", "word")


class Units:
    """A map from a user's numbers to the T tokens of a text. The user gives one number per token or per word.

    ``places`` has two entries for each unit, such as ``word``. The first gives for each real token the index of its number
    among the user's numbers, int64, -1 for none. The second is how many numbers the user must give. ``written`` is the text as
    the user gave it, None in a batch of token ids.
    """

    def __init__(self, text: Batch, written: Any, spaced_of: Callable[[Any], list[int]] | None) -> None:
        self.written = written
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
        if spaced_of is not None and written is not None:
            parts = [written] if isinstance(written, str) else written
            words = len(written) if isinstance(written, list) else sum(len(part.split()) for part in parts)
            self.places["word"] = torch.tensor(spaced_of(written)), words

    def spread(self, unit: str, numbers: np.ndarray) -> Tensor:
        """Return a number for each token, float64 ``(T,)``; the number of a word is divided equally among its tokens."""
        places, count = self.places[unit]
        shares = torch.bincount(places[places >= 0], minlength=count)[places]
        of_tokens = torch.from_numpy(numbers)[places] / shares
        padded = torch.zeros(self.width, dtype=torch.float64)
        padded[: len(places)] = of_tokens.masked_fill(places < 0, 0)
        return padded


def units_of(batches: Sequence[Batch], read: Given, encode: Any) -> list[Units]:
    """Return, for each text in order, the map from the user's numbers to the tokens of the text."""
    texts = {int(text["id"]): text for batch in batches for text in texts_of(batch)}
    if {*texts} != {*range(len(texts))}:
        raise AttestError(
            "explanations and rationales are matched to texts by position, but the batches have other ids; expected ids from "
            "0, in the order of the texts. Leave 'id' out of the batches."
        )
    encoder = encoder_in(encode)
    spaced_of = None if encoder is None else encoder.spaced_of
    return [Units(texts[row], None if read.batched else read.items[row], spaced_of) for row in range(len(texts))]


def of_tokens(what: str, texts: Sequence[int], numbers: Sequence[Any], units: Sequence[Units]) -> tuple[list[Tensor], str]:
    """Return one number per token, float64 ``(T,)`` per text, and a phrase such as ``one number for each word``."""
    units = [units[text] for text in texts]
    values = [_row(f"{what} of text {text}", each) for text, each in zip(texts, numbers, strict=True)]
    fits = {
        unit: [unit in text.places and len(each) == text.places[unit][1] for each, text in zip(values, units, strict=True)]
        for unit in UNITS
    }
    fitting = [unit for unit in UNITS if all(fits[unit])]
    if not fitting:
        nearest = max(UNITS, key=lambda unit: sum(fits[unit]))
        row = fits[nearest].index(False)
        ways = " or ".join(f"{count} (one for each {unit})" for unit, (_, count) in units[row].places.items())
        longest = max(text.places["token"][1] for text in units)
        padded = " If the rows are padded, give [row[real] for row, real in zip(values, mask.bool())]."
        padded = padded if {*map(len, values)} == {longest} else ""
        others = f"; {sum(fits[nearest])} of {len(units)} texts have one for each {nearest}" if any(fits[nearest]) else ""
        raise AttestError(
            f"{what} of text {texts[row]} has {len(values[row])} numbers; expected {ways}. All texts must have numbers for "
            f"the same unit{others}.{padded}"
        )
    unit = fitting[0]
    if any(not torch.equal(text.places[unit][0], text.places[other][0]) for text in units for other in fitting[1:]):
        raise AttestError(
            f"{what} can be read in two ways: one number for each {unit} or for each {fitting[-1]}, because every text has "
            "the same number of both; expected one number for each token, special tokens included."
        )
    places = [text.places[unit] for text in units]
    read = [len(where[where >= 0].unique()) for where, _ in places]
    lost = sum(count for _, count in places) - sum(read)
    said = f"one number for each {unit}"
    if unit == "word" and any(int((where >= 0).sum()) > words for (where, _), words in zip(places, read, strict=True)):
        said += ", in equal shares to its subwords"
    if lost:
        said += f"; {lost} words that the model does not read are left out"
    return [text.spread(unit, each) for text, each in zip(units, values, strict=True)], said


def _row(what: str, numbers: Any) -> np.ndarray:
    if isinstance(numbers, Tensor):
        numbers = numbers.detach().cpu().double()
    own = getattr(numbers, "values", None)  # of SHAP's Explanation
    try:
        values = np.array(numbers if own is None or callable(own) else own, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim > 1:
        raise AttestError(
            f"{what} has the shape {values.shape}; expected one number for each token. If its last dimension has a number for "
            "each class (as in SHAP), take one class: [row[:, 1] for row in values]. If it has a number for each hidden unit "
            "(as in captum), add them: values.sum(-1)."
        )
    if values.ndim != 1:
        raise AttestError(f"{what} is {str(numbers)[:40]!r}; expected a list of numbers.")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise AttestError(
            f"{what} contains {values[place]} at index {place}; expected finite numbers. Leave out "
            "the text, or give 0 for unimportant tokens."
        )
    return values


def columns_by_text(
    source: pd.DataFrame | str | Path, units: Sequence[Units], holds: Callable[[str, pd.Series], bool], wanted: str
) -> dict[str, list[Any]]:
    """Return the table columns that ``holds`` accepts, in the order of the tested texts; errors call them ``wanted``."""
    table, what = source, "the table"
    if not isinstance(table, pd.DataFrame):
        what = str(source)
        if not Path(what).is_file():
            raise AttestError(f"the file {what} does not exist; expected a parquet file with a column of texts.")
        table = read_parquet(Path(what)).to_pandas()
    texts = [each.written for each in units]
    if None in texts:
        raise AttestError(
            f"a table of {wanted} is matched to the data by its texts, but the data are token ids; expected texts. For token "
            "ids give lists, in the order of the data."
        )
    names = [*map(str, table.columns)]
    second = first_of(SECOND_NAMES, names) if any(isinstance(each, tuple) for each in texts) else None
    text = first_of((*FIRST_NAMES, *TEXT_NAMES) if second else (*TEXT_NAMES, *FIRST_NAMES, *TOKEN_NAMES), names)
    if text is None:
        raise AttestError(
            f"no column of {what} has a usual name for texts (columns: {some(names)}); expected a column named 'text', which "
            "matches the rows to the texts."
        )
    columns = [name for name in names if name not in (text, second) and holds(name, table[name])]
    if not columns:
        raise AttestError(
            f"no column of {what} contains {wanted} (columns: {some(names)}); expected a column of {wanted} beside the texts."
        )
    if unread := [name for name in names if name not in (text, second, *columns)]:
        say(f"Read from {what}: {', '.join(columns)}. Not read: {some(unread)}.")
    keys = [_key(each) for each in (zip(table[text], table[second], strict=True) if second else table[text])]
    rows: dict[Any, int] = {}
    for row, key in enumerate(keys):
        first = rows.setdefault(key, row)
        if any(not _are_alike(table[name].iloc[first], table[name].iloc[row]) for name in columns):
            raise AttestError(
                f"{what} has the text {_short(key)!r} twice, with different {wanted}; expected one row for each text."
            )
    keys = [_key(each) for each in texts]
    if missing := [key for key in keys if key not in rows]:
        raise AttestError(
            f"{what} has no row for {len(missing)} of {len(keys)} texts (the first is {_short(missing[0])!r}); expected a row "
            "for every text, with exactly the same characters."
        )
    return {name: [table[name].iloc[rows[key]] for key in keys] for name in columns}


def plain(value: Any) -> Any:
    """Return a value of a table with its arrays and tensors converted to lists."""
    if isinstance(value, np.ndarray | np.generic | Tensor):
        value = value.tolist()
    return [plain(each) for each in value] if isinstance(value, list) else value


def is_missing(value: Any) -> bool:
    """Return whether a cell of a table, or an entry of a list, is empty: ``None``, NaN or ``pd.NA``."""
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _are_alike(first: Any, second: Any) -> bool:
    return (is_missing(first) and is_missing(second)) or plain(first) == plain(second)


def _key(text: Any) -> Any:
    return text if isinstance(text, str) else tuple(text)


def _short(key: Any) -> str:
    return (key if isinstance(key, str) else " ".join(key))[:40]
