"""Conversion of labels in any form to class numbers from 0, with clear errors for wrong labels.

Used by the command, ``attest.trial`` and callbacks in anyone's Trainer.

Legend: B batch, T tokens, K classes, N labels.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.label_values import TRUTH, listed, value_of

UNLABELLED = -100
"""The value in a tensor of labels that stands for a missing label; torch's ``cross_entropy`` ignores it by default."""
SHOWN = 5
MOST_CLASSES = 2**31
"""A label of at least this value is refused as a class number when the number of classes is unknown."""
IN_PYTHON = "Give class numbers, or name the classes yourself, in class order: label_names=[…]"


def class_numbers(
    labels: Any, shape: tuple[int, ...], names: Sequence[str] = (), classes: int | None = None, *, partly: bool = False
) -> np.ndarray:
    """Convert labels, which may be names, to class numbers in an int64 array of the given shape.

    Args:
        labels: numbers, names or truth values, in a list, an array, a tensor, a Series …; see ``value_of``. Truth values are
            names of classes where the model has these, else 0 and 1 of two classes. Labels are matched by position, not by
            index. A last dimension of 1 is dropped.
        shape: ``(N,)``, one for each text, or ``(B, T)``, one for each token.
        names: the names of the classes, in class order; empty if labels must be numbers.
        classes: K; None if K is the number of names, or is not known.
        partly: whether a label may be -100, which means no label.
    """
    values = _of_shape(_array(labels, partly), shape)
    if values.dtype.kind == "U" and not names and (classes or 2) == 2 and {*values.ravel()} <= {"True", "False"}:
        values = (values == "True").astype(np.int64)
    if values.dtype.kind == "U":
        unlabelled = {str(UNLABELLED)} if partly else set()
        known = by_name(set(values.ravel().tolist()) - unlabelled, names, IN_PYTHON)
        known |= dict.fromkeys(unlabelled, UNLABELLED)
        return np.array([known[label] for label in values.ravel().tolist()], dtype=np.int64).reshape(shape)
    _require_whole(values)
    most = classes or len(names) or MOST_CLASSES
    wrong = ((values < 0) | (values >= most)) & ~(partly & (values == UNLABELLED))
    if wrong.any():
        least = f"from 0 to {most - 1}" if most < MOST_CLASSES else "from 0"
        ignored = f", or {UNLABELLED} for no label" if partly else ""
        named = f" ({_some(names)})" if names else ""
        mend = {most: " If the labels count from 1, subtract 1.", UNLABELLED: " Leave out the texts without a label."}
        how = mend.get(values[wrong][0], "") if len(np.unique(values[wrong])) == 1 else ""
        raise AttestError(f"the labels contain {_shown(values[wrong])}; expected class numbers {least}{named}{ignored}.{how}")
    _require_one_meaning({number: number for number in np.unique(values).astype(int).tolist()}, names)
    return values.astype(np.int64)


def of_batch(labels: Any, shape: tuple[int, ...], names: Sequence[str], *, partly: bool = False) -> Tensor:
    """Convert the labels of a batch to class numbers in an int64 tensor of the given shape."""
    known = () if isinstance(labels, Tensor) else names
    return torch.from_numpy(class_numbers(labels, shape, known, len(names), partly=partly))


def by_name(
    labels: Collection[str], names: Sequence[str], how: str, numbered: bool = True, truths: bool = True
) -> dict[str, int]:
    """Map each label to its class number. A label may be a class name, in upper or lower case, a number, or a truth value.

    Args:
        labels: all labels of the data (not of a part): if they are numbers, one must be 0, so that they count from 0.
        names: the names of the classes, in class order.
        numbered: whether labels may be class numbers.
        truths: whether True and False may be the numbers of two classes.
    """
    for same in (str, _plain, _counted):
        known = {same(name): number for number, name in enumerate(names)}
        if len(known) == len(names) and all(same(label) in known for label in labels):
            return {label: known[same(label)] for label in labels}
    number_of = partial(_number, truths=truths and len(names) == 2)
    numbers = {label: number for label in sorted(labels) if (number := number_of(label)) is not None and numbered}
    plain_names = {*map(_plain, names)}
    named = any(_plain(label) in plain_names for label in labels)
    if len(numbers) < len(labels) or not names or named or not set(numbers.values()) <= {*range(len(names))}:
        unknown = sorted(label for label in labels if _plain(label) not in plain_names)
        unknown = unknown or sorted(label for label in labels if label not in names)
        expected = "class numbers from 0, because the model has no class names"
        if names:
            expected = f"only the names {_some(names)}"
        if names and numbered and not any(whole(name) is not None for name in names):
            expected += f", or only class numbers from 0 to {len(names) - 1}"
        raise AttestError(f"the data have labels that the model does not know: {_some(unknown)}; expected {expected}. {how}")
    _require_one_meaning(numbers, names)
    if 0 not in numbers.values() and not any(_plain(label) in TRUTH for label in labels):
        label, number = min(numbers.items(), key=lambda each: each[1])
        raise AttestError(
            f"the labels are the numbers {_some(sorted(numbers, key=numbers.__getitem__))} without 0, so {label} has two "
            f"meanings: {names[number]!r} if classes count from 0, {names[number - 1]!r} if they count from 1; expected "
            f"labels with one meaning. {how}"
        )
    return numbers


def columns_named(names: Sequence[str], columns: Sequence[Any]) -> list[Any]:
    """Return the columns that are called as the classes, in class order, whatever their case; empty if one is missing."""
    called = {_plain(str(column)): column for column in columns}
    found = [called.get(_plain(name)) for name in names]
    return [] if None in found or len(called) < len(columns) else found


def _require_one_meaning(numbers: Mapping[Any, int], names: Sequence[str]) -> None:
    """Refuse a class number that is the name of another class."""
    called = [*map(_counted, names)]
    for label, number in numbers.items():
        if str(number) in called and called[number] != str(number):
            raise AttestError(
                f"the label {label} has two meanings: class {number} has the name {names[number]!r}, and class "
                f"{called.index(str(number))} has the name {names[called.index(str(number))]!r}; expected labels with one "
                "meaning. Give the names of the classes, as strings."
            )


def doubt(numbers: np.ndarray, names: Sequence[str]) -> str | None:
    """Return a warning if class numbers seem to start at 1 instead of 0, else None."""
    known = np.unique(numbers[numbers >= 0]).tolist()
    if len(known) < 2 or known[0] == 0 or not names:
        return None
    first = known[0]
    return f"No label is 0. Labels are counted from 0, so {first} is {names[first]!r}; if you count from 1, subtract 1."


def names_said_by(source: Any) -> Any:
    """Return the ``label_names`` of what knows its classes: data, a DataModule, a LightningModule; None if it names none."""
    return getattr(source, "label_names", None)


def names_of(given: Any) -> tuple[str, ...]:
    """Return the names of classes as strings, in the order of the class numbers; an empty tuple for None."""
    if isinstance(given, str | bytes | Mapping | AbstractSet) or not isinstance(given, Iterable | None):
        raise AttestError(
            f"label_names is a {type(given).__name__}; expected a list with a name for each class, in class order. For "
            'example: label_names=["bad", "good"]'
        )
    names = () if given is None else tuple(map(str, given))
    if twice := sorted({name for name in names if names.count(name) > 1 or not name.strip()}):
        raise AttestError(
            f"some names of classes ({_some(names)}) are empty or occur twice: {_some(map(repr, twice))}; expected a "
            "different name for each class. Give other names: label_names=[…], or --labels negative,positive"
        )
    return names


def class_names(config: Any) -> list[str]:
    """Return the names of the classes in a configuration of the library transformers, in the order of the class numbers."""
    if sorted(config.id2label) != list(range(config.num_labels)):
        raise AttestError(
            f"the config.json of the model names the class numbers {_some(map(str, sorted(config.id2label)))}; expected the "
            f"class numbers {_some(map(str, range(config.num_labels)))}. Correct id2label, or name the classes in their "
            "order: label_names=[…], or --labels negative,positive"
        )
    return list(names_of(config.id2label[number] for number in range(config.num_labels)))


def require_a_name_each(names: Sequence[str], classes: int) -> None:
    """Refuse names of classes if they are not as many as the classes of a model."""
    if len(names) != classes:
        raise AttestError(
            f"there are {len(names)} label names for {classes} classes; expected one name for each class of the model."
        )


def require_names_of(names: Sequence[str], config: Any) -> None:
    """Refuse names of classes if they are not as many as the classes of a model, or the model has them in another order."""
    require_a_name_each(names, config.num_labels)
    own = [str(config.id2label.get(number)) for number in range(config.num_labels)]
    given, known = [*map(_plain, names)], [*map(_plain, own)]
    if given != known and sorted(given) == sorted(known):
        raise AttestError(
            f"the label names are {_some(names)}, and the config.json of the model has the same names in another order: "
            f"{_some(own)}; expected them in the order of the classes of the model. Leave label_names= (--labels) out, or "
            "correct id2label if it is wrong."
        )


def require_no_table(what: str, given: Any) -> None:
    """Raise an ``AttestError`` if a DataFrame was given where a list is expected."""
    if isinstance(given, pd.DataFrame):
        longest = max(given.columns, key=lambda name: len(str(given[name].iloc[:1].tolist())), default="text")
        raise AttestError(
            f"the {what} are a DataFrame with the columns {_some(map(str, given.columns))}; expected one column, as a list. "
            f'For example: frame["{longest}"].tolist()'
        )


def _array(labels: Any, partly: bool) -> np.ndarray:
    require_no_table("labels", labels)
    given = labels if isinstance(labels, str | bytes | Mapping | AbstractSet) else listed(labels)
    if not isinstance(given, list):
        raise AttestError(f"labels= is a {type(given).__name__}; expected a list with a label for each text.")
    each = np.array([_deep(label) for label in given], dtype=object)
    if (missing := pd.isna(each)).any():
        mend = (
            f"Give {UNLABELLED} for a token without a label."
            if partly
            else "Leave out the texts without a label, or leave labels= out."
        )
        place = missing.ravel().argmax()
        raise AttestError(
            f"labels are missing: {missing.sum()} of {missing.size} (the first at index {place}, counted from 0); expected a "
            f"label for each text. {mend}"
        )
    kinds = {*map(type, each.ravel().tolist())}
    if str in kinds and kinds <= {str, int, float}:
        return each.astype(str)
    return np.array(each.tolist()) if kinds <= {int, float} else each


def _deep(label: Any) -> Any:
    value = value_of(label)
    return [_deep(each) for each in value] if isinstance(value, list) else value


def _of_shape(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if values.shape == (*shape, 1):
        return values.reshape(shape)
    if values.shape == shape:
        return values
    if len(values) == shape[0] and len(shape) == 1:
        raise AttestError(
            f"each text has {values.shape[1]} labels (the first text: {_some(map(str, values[0].tolist()))}); expected one "
            "class for each text. For one-hot labels or probabilities, give labels.argmax(-1)."
        )
    found = f"the number of labels is {len(values)}" if values.ndim == 1 else f"the labels have the shape {values.shape}"
    expected = (
        f"the number of texts {shape[0]}; expected one label for each text"
        if len(shape) == 1
        else f"the tokens have the shape {shape}; expected one label for each token"
    )
    raise AttestError(f"{found}, and {expected}.")


def _require_whole(values: np.ndarray) -> None:
    if values.dtype.kind not in "biuf":
        found = max(values.ravel().tolist(), key=lambda each: len(str(each)))
        raise AttestError(
            f"a label is {str(found)[:40]!r}, of the type {type(found).__name__}; expected the number or the name of one "
            "class for each text."
        )
    if (broken := values != np.floor(values)).any() if values.dtype.kind == "f" else False:
        raise AttestError(
            f"the labels contain {_shown(values[broken])}, which are not whole numbers; expected class numbers. Turn "
            "probabilities or ratings into classes first."
        )


def whole(label: str) -> int | None:
    """Return the whole number that a label writes, such as ``1`` or ``1.0``; None if it is none."""
    try:
        number = float(label)
    except ValueError:
        return None
    return int(number) if number.is_integer() and "_" not in label else None


def _number(label: str, truths: bool) -> int | None:
    return TRUTH.get(_plain(label), whole(label)) if truths else whole(label)


def _counted(name: str) -> str:
    number = whole(name)
    return _plain(name) if number is None else str(number)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().casefold()


def _shown(values: np.ndarray) -> str:
    return _some(f"{each:g}" if isinstance(each, float) else str(each) for each in np.unique(values).tolist())


def _some(names: Iterable[str]) -> str:
    listed = [str(name) for name in names]
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")
