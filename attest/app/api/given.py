"""Read what a user gives to a trial: texts or batches, with labels, from tables, data sets or a tokenizer.

Legend: B batch, T tokens.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.app.api.batches import Batch, Indexed, text_of
from attest.app.api.grouping import Groups, groups_of
from attest.core.errors import AttestError
from attest.core.label_values import listed as plain_list
from attest.core.labels import UNLABELLED, columns_named
from attest.datamodules.forms import (
    FIRST_NAMES,
    HALF_CHARACTER,
    LABEL_NAMES,
    SECOND_NAMES,
    TAG_NAMES,
    TEXT_NAMES,
    TOKEN_NAMES,
    first_of,
)
from attest.datamodules.notice import say, shortened, some
from attest.datamodules.sources import classes_of
from attest.models.traits import traits_of

NO_CLASS = -1
"""The number in the label column of a Hub data set that stands for a missing label, as in test splits."""
LABEL_KEYS = ("labels", "label", "label_ids")
"""The keys under which a tokenizer's output may hold the labels, the most likely first."""


@dataclass(frozen=True)
class Given:
    """The texts or batches that a user gave, with their labels if known.

    Args:
        labels: the labels of the texts, in a form that ``class_numbers`` takes; None if they are not known.
        classes: the names of the classes that a data set has for numbers in ``labels``; empty if it has none.
        tokenized: whether each of ``items`` is a text that a tokenizer has encoded, a dictionary as ``text_of`` returns it.
        beside: the columns of a table that are neither texts nor labels.
        groups: the groupings of the texts, by name, with one value for each text.
    """

    items: list[Any]
    labels: Any = None
    classes: tuple[str, ...] = ()
    tokenized: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict)
    groups: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, item in enumerate(self.items):
            parts = (item,) if isinstance(item, str) else item if isinstance(item, tuple | list) else ()
            if any(isinstance(part, str) and HALF_CHARACTER.search(part) for part in parts):
                raise AttestError(
                    f"text {number} contains half a character (a surrogate without its other half), which no tokenizer reads; "
                    "expected whole characters. Leave the text out, or decode it again from its bytes."
                )

    @property
    def batched(self) -> bool:
        """Return whether the user gave batches instead of texts."""
        return any(isinstance(each, Mapping) for each in self.items)

    @property
    def typed(self) -> bool:
        """Return whether the batches have a type for every token (``token_type_ids``)."""
        return any(isinstance(each, Mapping) and "token_type_ids" in each for each in self.items)

    def labels_for(self, names: Sequence[str], several: bool = False) -> Any:
        """Return the labels as class names if both data set and model name their classes, else unchanged.

        Args:
            names: the names of the classes of the model.
            several: whether a text can have several labels, which a table may have in a column for each label.
        """
        if several and names and self.labels is None and (each := columns_named(names, [*self.beside])):
            say(f"Labels: the columns {some(each)}.")
            return pd.DataFrame({column: _values(self.beside[column]) for column in each})
        if self.labels is None and names and _end_in_names(self.items, names):
            raise AttestError(
                f"the second text of every pair is the name of a class of the model ({some(list(names))}); expected texts and "
                "labels in two lists. Give [text for text, label in data], labels=[label for text, label in data]."
            )
        unnamed = not names or all(name == f"LABEL_{number}" for number, name in enumerate(names))
        if self.labels is None or not self.classes or unnamed:
            return self.labels
        if {name.casefold() for name in self.classes} != {name.casefold() for name in names}:
            raise AttestError(
                f"the data set has the classes {some(self.classes)}, and the model has the classes {some(list(names))}; "
                "expected the same names. If the numbers of the classes agree, give labels=dataset['label'], and the texts as "
                "dataset['text']."
            )
        return [self._called(label) for label in self.labels]

    def _called(self, label: Any) -> Any:
        if isinstance(label, list | np.ndarray):
            return [self._called(each) for each in label]
        if label is None:
            return None
        return self.classes[label] if label >= 0 else UNLABELLED


def given(
    data: Any, labels: Any = None, columns: Mapping[str, str] = MappingProxyType({}), groups: Groups | None = None
) -> Given:
    """Return the texts or the batches that a user gives in any accepted form, together with their labels and groups.

    Args:
        data: texts, pairs of texts, lists of words; a DataFrame, a ``datasets.Dataset``, or rows or columns as dictionaries;
            the output of a tokenizer, one batch or several; or batches with ``token_ids`` and ``mask``.
        labels: the labels of the texts; None if there are none, or if a column or the batches have them.
        columns: the column name for each option of ``attest.trial`` that the user typed, such as ``label_column``.
        groups: what the user knows of each text, by name; None if there is nothing.
    Raises:
        AttestError: the data have none of these forms, or labels or groups do not fit them.
    """
    read = _given(data, labels, columns)
    return replace(read, groups=groups_of(groups, len(read.items), read.batched and not read.tokenized))


def _given(data: Any, labels: Any, columns: Mapping[str, str]) -> Given:
    for what, each in (("data", data), ("labels", labels)):
        if isinstance(each, set | frozenset):
            raise AttestError(
                f"the {what} are a {type(each).__name__}, which has no order, so that labels would land on other texts; "
                "expected a list."
            )
    _require_same_rows(data, labels)
    table = _table_of(data)
    if table is None:
        listed = _listed(data)
        table = _table_of_rows(listed)
        if table is None:
            if columns:
                raise AttestError(
                    f"{next(iter(columns))}= names a column, but the data are a {type(data).__name__} of "
                    f"{type(listed[0]).__name__} without columns; expected a DataFrame or a datasets.Dataset. Leave "
                    f"{next(iter(columns))}= out."
                )
            if all(isinstance(each, Mapping) and "input_ids" in each for each in listed):
                return _tokenized(listed, labels)
            _require_texts(listed)
            return Given(_pairs_and_words(listed), labels)
    if "input_ids" in table.columns and "text_column" not in columns:
        columns_given = {name: table.values(name) for name in table.columns}
        return replace(_tokenized([columns_given], labels), classes=table.classes(first_of(LABEL_KEYS, [*table.columns])))
    return table.read(columns, labels)


def _pairs_and_words(listed: list[Any]) -> list[Any]:
    """Return lists of strings as text pairs (tuples) if all lists have two strings, else as lists of words."""
    listed = [each.tolist() if isinstance(each, np.ndarray) else each for each in listed]
    several = [isinstance(each, tuple | list) and _all_strings(each) for each in listed]
    if not all(several):
        return listed
    return [*map(tuple, listed)] if all(len(each) == 2 for each in listed) else [*map(list, listed)]


def _listed(data: Any) -> list[Any]:
    if isinstance(data, Mapping) and "input_ids" in data:
        return [data]
    if isinstance(data, str):
        raise AttestError(
            f"the data are one {type(data).__name__}; expected a list of texts, or batches. Put it in a list: "
            "attest.trial(model, [text], …)"
        )
    if isinstance(data, Mapping):
        raise AttestError(
            f"the data are one {type(data).__name__} with the keys {some([shortened(str(key)) for key in data])}; expected a "
            'list of texts, columns such as {"text": texts, "label": labels}, or a list of batches, [batch].'
        )
    if isinstance(data, Indexed) and isinstance(data, Sized) and not isinstance(data, Iterable):  # a torch Dataset
        data = [data[place] for place in range(len(data))]
    if not isinstance(data, Iterable):
        raise AttestError(
            f"the data are one {type(data).__name__}; expected a list of texts, a DataFrame or a datasets.Dataset. For "
            "example: attest.trial(model, texts, labels=labels)"
        )
    listed = _values(data)
    if not listed:
        raise AttestError("the data are empty; expected at least one text. An iterator can be read only once.")
    return listed


def _require_same_rows(data: Any, labels: Any) -> None:
    if isinstance(data, pd.Series | pd.DataFrame) and isinstance(labels, pd.Series) and len(data) == len(labels):
        if data.index.equals(labels.index):
            return
        same = set(data.index) == set(labels.index) and data.index.is_unique
        mend = "labels=labels.loc[texts.index]" if same else "labels=labels.tolist(), if both are in the same order"
        raise AttestError(
            f"the rows of texts and labels have different indexes (the texts begin with {data.index[0]}, the labels with "
            f"{labels.index[0]}); expected the same rows in the same order. Give {mend}."
        )


# Tables


@runtime_checkable
class _ArrowTable(Protocol):
    """A table of pyarrow, polars or duckdb."""

    columns: Any

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class _Table:
    def __init__(
        self,
        kind: str,
        columns: Mapping[str, Any],
        features: Mapping[str, Any] | None = None,
        hidden: Sequence[str] = (),
    ) -> None:
        self.kind, self.columns, self.hidden, self._features = kind, columns, hidden, features or {}

    def classes(self, column: str | None) -> tuple[str, ...]:
        """Return the class names that the data set defines for a column; empty if it defines none."""
        feature = self._features.get(column) if column else None
        return tuple(classes_of(feature) or ())

    def values(self, column: str) -> list[Any]:
        """Return a table column as a list of plain Python values."""
        return _values(self.columns[column])

    def read(self, columns: Mapping[str, str], labels: Any) -> Given:
        """Return the texts and the labels from the table, and print which columns were read."""
        names = [*self.columns]
        for option, name in columns.items():
            if name not in names:
                raise AttestError(
                    f"{option} is {name!r}, which is not a column of the {self.kind}; expected one of: {some(names)}."
                )
        text, second, label = (columns.get(option) for option in ("text_column", "second_column", "label_column"))
        second = second or (None if text else first_of(SECOND_NAMES, names, label))
        rest = [name for name in names if name != second]
        label = label or (None if labels is not None else first_of((*LABEL_NAMES, *TAG_NAMES), rest, text))
        usual = (*FIRST_NAMES, *TEXT_NAMES, *TOKEN_NAMES) if second else (*TEXT_NAMES, *FIRST_NAMES, *TOKEN_NAMES)
        text = text or first_of(usual, rest, label)
        if text is None:
            if self.hidden:
                raise AttestError(
                    f"the format of the {self.kind} hides {some(self.hidden)}, and no other column has a usual name "
                    f"for texts (columns: {some(names)}); expected a column of texts. To show all columns, give "
                    "data.with_format(None)."
                )
            one = max(rest, key=lambda name: len(str(self.values(name)[:1])), default="text")
            raise AttestError(
                f"no column of the {self.kind} has a usual name for texts (columns: {some(names)}); expected the name of the "
                f"column with texts. For example: attest.trial(model, data, text_column={one!r}, tokenizer=tokenizer)"
            )
        texts = self.values(text)
        if not texts:
            raise AttestError(f"the {self.kind} has no rows; expected at least one text.")
        if second is not None:
            texts = list(zip(texts, self.values(second), strict=True))
        read = [name for name in (text, second, label) if name is not None]
        if len(columns) < len(read) or len(read) < len(names) or self.hidden:
            unread = some([name for name in names if name not in read] + [f"{name} (hidden)" for name in self.hidden])
            say(f"Read from the {self.kind}: {', '.join(read)}.{f' Not read: {unread}.' if unread else ''}")
        known = self.values(label) if label is not None else labels
        if classes := self.classes(label):
            numbers = [None if number == NO_CLASS else number for number in known]
            known = numbers if any(number is not None for number in numbers) else None
        beside = {name: self.columns[name] for name in names if name not in read}
        return Given(texts if second is not None else _pairs_and_words(texts), known, classes, beside=beside)


def _values(column: Any) -> list[Any]:
    return [*plain_list(column)]


def _table_of(data: Any) -> _Table | None:
    if isinstance(data, pd.DataFrame):
        _require_different("DataFrame", [*map(str, data.columns)])
        return _Table("DataFrame", {str(name): data[name] for name in data.columns})
    if (library := sys.modules.get("datasets")) is not None:
        if isinstance(data, library.DatasetDict | library.IterableDatasetDict):
            first = "test" if "test" in data else next(iter(data), "test")
            raise AttestError(
                f"the data contain the splits {some([*map(str, data)])}; expected one split. Give for example data[{first!r}]"
            )
        if isinstance(data, library.Dataset):
            return _of_dataset(data)
    if isinstance(data, _ArrowTable):
        import pyarrow as pa

        table = pa.table(data)
        _require_different(type(data).__name__, table.column_names)
        return _Table(type(data).__name__, {name: table[name] for name in table.column_names})
    if isinstance(data, Mapping) and data and "input_ids" not in data:
        columns = (Sequence, np.ndarray, pd.Series)
        if all(isinstance(each, columns) and not isinstance(each, str) for each in data.values()):
            return _Table(type(data).__name__, data)
    return None


def _of_dataset(data: Any) -> _Table:
    """Return the columns that a ``datasets.Dataset`` shows, as plain values whatever its format; a transform is applied."""
    shown = [name for name in data.column_names if name in (data.format["columns"] or data.column_names)]
    plain = data if data.format["type"] == "custom" else data.with_format(None)
    hidden = [name for name in data.column_names if name not in shown]
    return _Table("Dataset", {name: plain[name] for name in shown}, data.features, hidden)


def _require_different(kind: str, names: Sequence[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AttestError(
            f"the {kind} has several columns named {twice!r}; expected only one column of this name. Rename the other columns."
        )


def _table_of_rows(listed: list[Any]) -> _Table | None:
    if not all(isinstance(each, Mapping) for each in listed):
        return None
    names = [*listed[0]]
    if _are_columns(listed):
        return _Table("list of batches", {name: [row for each in listed for row in _values(each[name])] for name in names})
    if "input_ids" in names:
        rows = all(_depth(each.get("input_ids")) == 1 for each in listed)
    else:
        rows = any(isinstance(value, str) for value in listed[0].values())
    if not rows:
        return None
    if other := next((each for each in listed if [*each] != names), None):
        raise AttestError(
            f"one row has the keys {some(names)}, and another row has the keys {some([*map(str, other)])}; expected the same "
            "keys in every row."
        )
    return _Table("list of rows", {name: [each[name] for each in listed] for name in names})


def _are_columns(batches: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether each dictionary has columns of texts, as a DataLoader makes of the rows of a data set."""
    if {"input_ids", "token_ids"} & {*batches[0]} or any(each.keys() != batches[0].keys() for each in batches):
        return False
    columns = [value for each in batches for value in each.values()]
    if not all(_depth(value) and len(value) for value in columns):
        return False
    return any(isinstance(value[0], str) for value in batches[0].values()) and all(
        len({len(value) for value in each.values()}) == 1 for each in batches
    )


def _require_texts(listed: Sequence[Any]) -> None:
    """Refuse rows of a text with its label, and what else is neither a text nor a batch."""
    for place, each in enumerate(listed):
        if isinstance(each, bytes):
            raise AttestError(
                f"text {place} is of the type bytes; expected a string. If the texts are in UTF-8, give [text.decode() for "
                "text in texts]."
            )
        parts: Sequence[Any] = each if isinstance(each, tuple | list) and len(each) == 2 else ()
        (beside,) = [part for part in parts if not isinstance(part, str)][:1] or [""]
        if any(isinstance(part, str) for part in parts) and not isinstance(beside, str | list | tuple | np.ndarray | Mapping):
            order = "text, label" if isinstance(parts[0], str) else "label, text"
            raise AttestError(
                f"text {place} is a text beside a value of the type {type(beside).__name__}, as if this were its label; "
                f"expected texts and labels in two lists. Give [text for {order} in data], labels=[label for {order} in data]."
            )
        if parts and _are_columns([{"texts": parts[0], "labels": parts[1]}]) and not _all_strings(parts[1]):
            raise AttestError(
                f"batch {place} has a list of texts and their labels; expected texts and labels in two lists. Give [text for "
                "texts, _ in data for text in texts], labels=[label for _, labels in data for label in labels]."
            )


def _end_in_names(items: Sequence[Any], names: Sequence[str]) -> bool:
    """Return whether each item is a pair of strings of which the second is the name of a class."""
    known = {name.casefold() for name in names}
    return all(isinstance(each, tuple) and len(each) == 2 and str(each[1]).casefold() in known for each in items)


def _all_strings(values: Any) -> bool:
    return all(isinstance(each, str) for each in values)


# What a tokenizer gives


def _depth(values: Any) -> int:
    if isinstance(values, Tensor | np.ndarray):
        return values.ndim
    return 1 + _depth(values[0]) if isinstance(values, list | tuple) and values else int(isinstance(values, list | tuple))


def _tokenized(batches: Sequence[Mapping[str, Any]], labels: Any) -> Given:
    """Return the texts from the batches of a tokenizer, with special tokens but without padding."""
    texts: list[Batch] = []
    own: list[Any] = []
    for batch in batches:
        for text, label in _texts_of(batch, len(texts)):
            texts.append(text)
            own.append(label)
    if not texts:
        raise AttestError("the data are empty; expected at least one text. An iterator can be read only once.")
    if len({frozenset(text) for text in texts}) > 1 or len({label is None for label in own}) > 1:
        raise AttestError(
            "some batches have token types, words or labels, and others do not; expected the same keys in every batch."
        )
    if labels is not None and own[0] is not None:
        raise AttestError("labels are given twice, in labels= and in the batches; expected them once. Leave labels= out.")
    return Given(texts, own if own[0] is not None else labels, tokenized=True)


def _texts_of(batch: Mapping[str, Any], first: int) -> Iterator[tuple[Batch, Any]]:
    """Yield each text of a tokenizer's batch, as a dictionary from ``text_of``, and its label or None.

    The dictionary has ``token_ids``; ``token_type_ids`` if the tokenizer gives them; ``word`` and, for pairs, ``text_of_pair``
    if it is a fast tokenizer; and ``tags`` if each token has a label and some of these are negative, which means no label.
    """
    rows = {name: values.tolist() if isinstance(values, Tensor | np.ndarray) else values for name, values in batch.items()}
    if _depth(batch["input_ids"]) == 1:
        rows = {name: [values] for name, values in rows.items()}
    if "attention_mask" not in rows:
        raise AttestError(
            f"the output of the tokenizer has no attention_mask (its keys: {some([*map(str, rows)])}), so padding cannot be "
            "recognised; expected the whole output. For example: attest.trial(model, tokenizer(texts), tokenizer=tokenizer)"
        )
    label = first_of(LABEL_KEYS, [*rows])
    encodings = getattr(batch, "encodings", None)
    for row, (ids, real) in enumerate(zip(rows["input_ids"], rows["attention_mask"], strict=True)):
        places = [place for place, there in enumerate(real) if there]
        if not places or places[-1] - places[0] >= len(places):
            where = "everywhere" if not places else "between two tokens"
            raise AttestError(
                f"the attention_mask of text {first + row} is 0 {where}; expected "
                "1 at each token of the text, and 0 only at padding."
            )
        told = {"token_ids": ids}
        if "token_type_ids" in rows:
            told["token_type_ids"] = rows["token_type_ids"][row]
        if encodings:
            from attest.models.pretrained.texts import texts_in, words_in

            told |= {"word": words_in(encodings[row])}
            if 1 in encodings[row].sequence_ids:
                told |= {"text_of_pair": texts_in(encodings[row])}
        labels = None if label is None else rows[label][row]
        if isinstance(labels, list) and len(labels) == len(ids) and any(each < 0 for each in labels):  # a tag of each token
            told |= {"tags": labels}
            labels = None
        kept = {name: torch.tensor([values[place] for place in places]) for name, values in told.items()}
        yield text_of(first + row, **kept), labels


def with_types(batches: Sequence[Batch], network: Any) -> list[Batch]:
    """Return the batches without the types of tokens if the network reads none; refuse types above 0 then."""
    name = "token_type_ids"
    if name in traits_of(network).reads_beside:
        return [*batches]
    if any(name in batch and batch[name].any() for batch in batches):
        raise AttestError(
            f"the batches have {name} above 0, and without a tokenizer the number of token types is not known; expected the "
            "tokenizer of the model. Give tokenizer=tokenizer."
        )
    return [{key: values for key, values in batch.items() if key != name} for batch in batches]
