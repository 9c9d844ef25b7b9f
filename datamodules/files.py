"""The user's own data: texts with a label each, or tokens with a tag each, from files or the Hub."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.base import TextDataModule
from attest.datamodules.columns import choose_columns
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.instances import Instance, complaint, instance
from attest.datamodules.notice import say
from attest.datamodules.rows import read_rows
from attest.datamodules.sentences import sentence_lengths
from attest.datamodules.stored import StoredDataModule, Tables, split_at_random
from attest.datamodules.tokenisers import spacy_tokens
from attest.errors import AttestError

COMMAND = 'make train DATA=files ARGS="--data.init_args.train=<file> --data.init_args.test=<file>"'


class FilesDataModule(StoredDataModule):
    """Any text classification or tagging data in CSV, TSV, JSONL or parquet files, or on the Hub.

    Columns: named, or guessed from usual names and printed. A text is a string (spaCy's blank English tokenizer, lower case)
             or a list of words (taken as they are). A label is a string, number or truth value; in tagging, tags are a list as
             long as the words, or both are strings with blanks between.
    Classes: those of the training file, in the order of their numbers or of the alphabet, ``O`` first.
    Splits:  as given. Without ``validation``, ``validation_share`` of the training texts is cut by ``split_seed``, stratified
             by class in classification.
    Bad row: the text or label is missing, the label is none of the training file's, tags are not as many as words, bytes are
             no UTF-8, a line is no JSON or has another number of cells. They are counted and shown with file and line.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of the file from 0, bad ones too.
    Raises:  AttestError: a file is missing or broken, bad rows are refused, there is one class only, or a class has too few
             texts to cut a validation set.

    Args:
        train, test: paths or Hub ids; of a Hub dataset, the split of that name.
        validation: likewise; None to cut one from ``train``.
        text_column: texts, or words in tagging; None to guess.
        label_column: labels, or tags in tagging; None to guess.
        tagging: one tag a word instead of one label a text; None to guess.
        on_bad_rows: ``refuse`` the data, or ``skip`` bad rows.
        validation_share: share of the training texts that becomes validation, in (0, 1).
        split_seed: which ones.
        options: as in ``TextDataModule``.
    """

    folder = "files"

    def __init__(
        self,
        train: str | None = None,
        test: str | None = None,
        validation: str | None = None,
        text_column: str | None = None,
        label_column: str | None = None,
        tagging: bool | None = None,
        on_bad_rows: Literal["refuse", "skip"] = "refuse",
        validation_share: float = 0.1,
        split_seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        sources = {"train": train, "validation": validation, "test": test}
        self.sources = {split: source for split, source in sources.items() if source is not None}
        self.text_column = text_column
        self.label_column = label_column
        self.tagging = tagging
        self.on_bad_rows = on_bad_rows
        self.validation_share = validation_share
        self.split_seed = split_seed
        self.in_words = bool(self.expected and self.expected.record.tokenising["in_words"])
        """Whether texts were given as lists of words; known once they are read."""

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"validation_share": self.validation_share, "split_seed": self.split_seed}

    def tokenising(self) -> dict[str, Any]:
        return super().tokenising() | {"in_words": self.in_words}

    def split_sources(self) -> dict[str, str]:
        train = self.sources["train"]  # of which validation is cut where it has no file of its own
        sources = {"train": train, "validation": self.sources.get("validation", train), "test": self.sources["test"]}
        return {split: _absolute(source) for split, source in sources.items()}

    def tables(self) -> Tables:
        self._require_sources()
        rows = {split: read_rows(source, split) for split, source in self.sources.items()}
        columns = choose_columns(rows["train"], self.text_column, self.label_column, self.tagging)
        self.in_words = columns.words
        say(f"{self.sources['train']}: {columns.sentence}")
        return self._checked({split: [instance(row, columns) for row in found] for split, found in rows.items()})

    def _require_sources(self) -> None:
        missing = [split for split in ("train", "test") if split not in self.sources]
        if missing:
            raise AttestError(f"DATA=files has no {missing[0]} file; expected one to train and one to test. Type: {COMMAND}")
        if not 0 < self.validation_share < 1:
            raise AttestError(f"validation_share is {self.validation_share}; expected a share between 0 and 1, such as 0.1.")

    def _checked(self, splits: dict[str, list[Instance]]) -> Tables:
        """Good rows as tables; bad ones shown, and refused unless they are to be skipped."""
        known = {name for row in splits["train"] for name in row.names}
        self._require_two(known)
        checked = {split: [row.unless_unknown(known) for row in rows] for split, rows in splits.items()}
        complaints = [
            complaint(self.sources[split], rows) for split, rows in checked.items() if any(row.problem for row in rows)
        ]
        if complaints and self.on_bad_rows == "refuse":
            raise AttestError(
                f"{' '.join(complaints)} Expected a text and a known label in every row. Mend the rows, or leave them out "
                "with --data.init_args.on_bad_rows=skip"
            )
        for sentence in complaints:
            say(f"Left out: {sentence}")
        return {split: _table(rows) for split, rows in checked.items()}

    def _require_two(self, names: set[str]) -> None:
        if len(names) < 2:
            found = f"one class only ({next(iter(names))})" if names else "no labelled text"
            raise AttestError(
                f"{self.sources['train']} has {found}; expected two classes or more. Give a file with texts of another class, "
                "or name the right column with --data.init_args.label_column=<column>"
            )

    def prepare(self, tables: Tables) -> Corpus:
        names = _ordered(set(_flat_labels(tables["train"]).to_pylist()))
        splits = {split: self._encoded_labels(table, names) for split, table in tables.items()}
        if "validation" not in splits:
            splits["train"], splits["validation"] = self._parted(splits["train"])
        return Corpus(**splits, vocabulary=self.fit_vocabulary(splits["train"].table["tokens"]), label_names=names)

    def _encoded_labels(self, table: pa.Table, names: tuple[str, ...]) -> Documents:
        numbers = pc.index_in(_flat_labels(table), value_set=pa.array(names)).cast(pa.int64())
        texts, labels = table["text"].combine_chunks(), table["label"].combine_chunks()
        if pa.types.is_list(labels.type):
            return self._words(table["id"], texts, tags=pa.ListArray.from_arrays(labels.offsets, numbers))
        if pa.types.is_list(texts.type):
            return self._words(table["id"], texts, label=numbers)
        return self.documents(table["id"], texts, self.tokenise, numbers)

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return TextDataModule.tokenise(self, texts) if self.in_words else spacy_tokens(texts)

    def _words(self, ids: pa.ChunkedArray, words: pa.ListArray, **labels: pa.Array) -> Documents:
        sentences = [list(sentence_lengths(text)) for text in words.to_pylist()] if self.sentences else None
        return Documents.of(ids, words, sentences=sentences, **labels)

    def _parted(self, documents: Documents) -> tuple[Documents, Documents]:
        try:
            rows = split_at_random(np.arange(len(documents)), self.validation_share, self.split_seed, documents.labels)
        except ValueError as error:
            raise AttestError(
                f"{self.sources['train']}: {self.validation_share:.0%} of {len(documents)} texts cannot be cut for validation "
                f"with every class in both parts ({error}). Give more texts, another share with "
                "--data.init_args.validation_share=<share>, or a file of your own with --data.init_args.validation=<file>."
            ) from error
        train, validation = (documents.take(np.sort(part)) for part in rows)
        return train, validation


def _table(rows: list[Instance]) -> pa.Table:
    """The good rows; ``id`` still counts the bad ones."""
    good = [(number, row) for number, row in enumerate(rows) if row.problem is None]
    return pa.table(
        {
            "id": pa.array([number for number, _ in good], pa.int64()),
            "text": [row.text for _, row in good],
            "label": [row.label for _, row in good],
        }
    )


def _flat_labels(table: pa.Table) -> pa.Array:
    labels = table["label"].combine_chunks()
    return pc.list_flatten(labels) if pa.types.is_list(labels.type) else labels


def _ordered(names: set[str]) -> tuple[str, ...]:
    """By number where all are numbers, else by the alphabet; ``O``, the tag of no span, first."""
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(sorted(names, key=lambda name: (name != "O", name)))


def _absolute(source: str) -> str:
    """A path that means the same in every folder; a Hub id stays one."""
    return str(Path(source).expanduser().absolute()) if Path(source).expanduser().is_file() else source
