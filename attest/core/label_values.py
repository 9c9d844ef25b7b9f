"""One label as data hold it: a truth value, a number, a name, a list, or a list that was written into a cell as text.

Python and files read every label here, so that one truth is the same classes by every way. A form is added here.
"""

import ast
import json
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Set
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from typing import Any

import pandas as pd

UNSEEN = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "".join(
    sign for sign in map(chr, range(0x10000)) if unicodedata.category(sign) == "Cf"
)
"""White space and invisible characters (zero-width spaces, byte order marks, direction marks), which are removed from both
ends of a label."""
TRUTH = {"true": 1, "false": 0}
"""The class number of a label that is a truth value: 1 for true, 0 for false. The keys are the spelling of the label in lower
case."""
BRACKETS = {"[": "]", "(": ")", "{": "}"}
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
BETWEEN = re.compile(r"[\s,]*")


def value_of(label: Any) -> Any:
    """Return one label as a whole number or as a name; None if it is missing.

    A truth value becomes ``True`` or ``False`` as a name, as CSV files spell it; a name is in Unicode's form NFC, without
    blanks around it. What is no label (a list, a broken number, a date) is returned as a plain Python object.

    Example:
        >>> [value_of(label) for label in (True, 1.0, "1.0", " good ", float("nan"), 0.5)]
        ['True', 1, '1.0', 'good', None, 0.5]
    """
    if type(label) is int:
        return label
    if isinstance(label, Enum):
        label = label.value
    label = listed(label)
    if isinstance(label, bytes):
        with suppress(UnicodeDecodeError):
            label = label.decode()
    if isinstance(label, str):
        return unicodedata.normalize("NFC", label).strip(UNSEEN) or None
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, float | Decimal):
        if math.isnan(label):
            return None
        return int(label) if math.isfinite(label) and label == int(label) else float(label)
    return None if label is None or label is pd.NA or label is pd.NaT else label


def listed(values: Any) -> Any:
    """Return a list, an array, a tensor or a column as a list of plain values, and anything else as a plain value."""
    if getattr(values, "is_sparse", False):
        values = values.to_dense()
    for plain in ("tolist", "to_pylist", "to_list", "as_py"):
        if hasattr(values, plain):
            return getattr(values, plain)()
    if isinstance(values, str):
        return str.__str__(values)
    return list(values) if isinstance(values, Iterable) and not isinstance(values, bytes | Mapping) else values


def in_order(values: Any) -> list[Any] | None:
    """Return values with one for each text as a list of plain values; None if they are in no order, or are one value.

    Example:
        >>> in_order((1, 2)), in_order({"a", "b"}), in_order({"a": 1}), in_order("ab"), in_order(3)
        ([1, 2], None, None, None, None)
    """
    if isinstance(values, str | bytes | Mapping | Set):
        return None
    found = listed(values)
    return found if isinstance(found, list) else None


def several_of(cell: Any, names: Collection[str] = ()) -> list[Any]:
    """Return the labels of a text that can have several, as ``value_of`` returns each.

    Args:
        cell: a list, an array, a set; one label; nothing, for no label; or a text such as ``joy, fear``, ``['joy', 'fear']``,
            ``["joy", "fear"]`` or ``[1 0 1]``, as tables with lists are written into files.
        names: names that are not cut at a comma.
    Raises:
        ValueError: the cell is an object, or a list in a list.
    Example:
        >>> several_of("['joy', 'fear']"), several_of("[1. 0. 1.]"), several_of("joy,fear"), several_of(None)
        (['joy', 'fear'], ['1.', '0.', '1.'], ['joy', 'fear'], [])
    """
    cell = listed(cell) if isinstance(cell, Iterable) and not isinstance(cell, str | bytes) else value_of(cell)
    if isinstance(cell, str) and cell not in names:
        cell = quoted_list(cell) or _split(cell)
    found = [] if cell is None else [*map(value_of, cell)] if isinstance(cell, list) else [cell]
    if any(isinstance(each, list | Mapping) for each in found):
        raise ValueError("lists or objects among the labels")
    return found


def quoted_list(cell: str) -> list[str] | None:
    """Return the strings of a list that was written as text, with quotation marks around each; None if it is none.

    Example:
        >>> quoted_list("['O', 'B-NP']"), quoted_list("array(['O' 'B-NP'], dtype=object)"), quoted_list("[ sic ]")
        (['O', 'B-NP'], ['O', 'B-NP'], None)
    """
    inside = _inside(cell)
    with suppress(ValueError, RecursionError):
        if inside is not None and isinstance(read := json.loads(cell), list) and all(isinstance(each, str) for each in read):
            return read
    if inside is None or not QUOTED.search(inside) or not BETWEEN.fullmatch(QUOTED.sub("", inside)):
        return None
    with suppress(SyntaxError, ValueError):
        pieces = [each.group() for each in QUOTED.finditer(inside)]
        return [ast.literal_eval(piece) if "\\" in piece else piece[1:-1] for piece in pieces]
    return None


def _inside(cell: str) -> str | None:
    cell = re.sub(r"^array\((.*?)(?:, dtype=\w+)?\)$", r"\1", cell.strip(), flags=re.DOTALL)
    return cell[1:-1] if len(cell) > 1 and BRACKETS.get(cell[0]) == cell[-1] else None


def _split(cell: str) -> list[str]:
    inside = _inside(cell)
    parts = (cell if inside is None else inside).split(",")
    if inside is not None and len(parts) == 1:  # as numpy writes an array
        parts = inside.split()
    return [part for part in parts if part.strip(UNSEEN)] if inside is not None else parts
