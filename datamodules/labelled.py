"""The texts with labels, from a corpus or a file, for models with their own tokenizer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from attest import datamodules
from attest.core.catalogue import CATALOGUE
from attest.core.errors import AttestError
from attest.core.labels import by_name
from attest.datamodules.corpus import missing, sample
from attest.datamodules.forms import Form
from attest.datamodules.instances import FileOptions, read_instances
from attest.datamodules.notice import say, typed_plainly

CORPORA = tuple(name for name, source in CATALOGUE.items() if not source.questions)
"""The names of public corpora that a model with its own tokenizer can read, as typed after ``DATA=``: all but those with a
question for each text."""
OF_TEXTS = FileOptions(form=Form(), pairs=True)
"""The options for reading a file in which each text, or each pair of texts, has a label."""

Chosen = Callable[[np.ndarray], list[Any]]
"""A function that takes the numbers of some rows, int64 ``(M,)``, in ascending order, and returns a list with one item for
each row, such as its text."""


@dataclass(frozen=True)
class Labelled:
    """A list of texts with the labels of each text.

    Args:
        texts: strings, pairs of strings, pairs of a text and its choices, or lists of words.
        labels: the class name of each text; a list of names per text if each word has a tag or a text has several labels; its
            number; the place of the right choice; or the right answers.
        of: the number of texts in the source.
        whence: a description of the source of the texts.
        every: all names of labels in the source, also those of texts that were not chosen.
        groups: the values of the columns that were asked for, by name.
    """

    texts: list[Any]
    labels: list[Any]
    of: int
    whence: str
    every: frozenset[str]
    groups: dict[str, list[Any]] = field(default_factory=dict)

    def called(self, names: Sequence[str], how: str, numbered: bool = True) -> list[Any]:
        """Return the labels of the texts as ``names``, the class names of the model.

        Args:
            how: advice for the user, at the end of the error message.
            numbered: whether labels may be class numbers.
        """
        known = by_name(self.every, names, how, numbered)
        return [
            [names[known[tag]] for tag in label] if isinstance(label, list) else names[known[label]] for label in self.labels
        ]


def is_corpus(source: str) -> bool:
    """Return whether a source names a public corpus, and not a file, a folder or a dataset on the Hub."""
    return source in CORPORA and not Path(source).exists()


def stored_corpora() -> dict[str, type[Any]]:
    """Return the DataModules of the corpora in files, by the value of ``DATA``; Lightning comes with them."""
    from attest.datamodules.stored import StoredDataModule

    known = [getattr(datamodules, name) for name in datamodules.__all__]
    by_folder = {each.folder: each for each in known if issubclass(each, StoredDataModule)}
    return {name: by_folder[name] for name in CATALOGUE}


def labelled(source: str, split: str, most: int, options: FileOptions = OF_TEXTS) -> Labelled:
    """Return at most ``most`` random texts with their labels, from a file or from a split of a corpus.

    Args:
        source: a name in ``CORPORA``, unless a file or folder has this name; else a file, or a dataset on the Hub.
        options: how a file is read, with its form; a corpus has texts with a class each, or words with tags.
    """
    form = options.form or Form()
    if is_corpus(source):
        if options.groups:
            raise AttestError(
                f"{source} is a corpus, whose texts have no column {options.groups[0]!r}; expected a file. Leave "
                "--group-column out."
            )
        if form.second is not None:
            raise AttestError(f"{source} has texts and labels, but the model needs {form.called}; expected a file with these.")
        texts, labels = stored_corpora()[source]().originals(split)
        if isinstance(labels[0], list) is not form.tagging:
            there, expected = "a tag for each word", "a label for each text"
            if form.tagging:
                there, expected = expected, there
            others = ", ".join(name for name in CORPORA if (name == "conll2000") is form.tagging)
            raise AttestError(f"{source} has {there}, but the model needs {expected}; expected one of: {others}, or a file.")
        return _drawn(lambda rows: [texts[row] for row in rows], labels, most, f"the {split} split of {source}", form)
    with typed_plainly():
        instances, columns = read_instances({split: source}, options, classes=False)
    found, form = instances[split], columns.form
    labels = form.settled(found.labels)
    joined = columns.words and not form.tagging

    def chosen(rows: np.ndarray) -> list[Any]:
        return [" ".join(text) if joined else text for text in found.texts(rows)]

    return _drawn(chosen, labels, most, source, form, {name: partial(found.column, name) for name in options.groups})


def _drawn(
    chosen: Chosen,
    labels: list[Any],
    most: int,
    whence: str,
    form: Form,
    groups: Mapping[str, Chosen] = MappingProxyType({}),
) -> Labelled:
    there = np.array([row for row, label in enumerate(labels) if label is not None])
    classes = pa.array(labels if form.classes else [""] * len(there))
    drawn = sample(there, classes, most)
    if lacking := missing(classes, classes.take(drawn), whence):
        say(f"{lacking} For more texts, type --texts <number>")
    every = frozenset(name for label in labels for name in (label if isinstance(label, list) else [label]))
    rows = there[drawn]
    known = {name: values(rows) for name, values in groups.items()}
    return Labelled(chosen(rows), [labels[row] for row in rows], len(there), whence, every, known)
