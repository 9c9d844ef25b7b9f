"""The data of the user: texts with a label each, or tokens with a tag each, from files or from the Hub."""

from collections import Counter
from contextlib import suppress
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.datamodules.base import TextDataModule
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.forms import Form, Tags
from attest.datamodules.instances import FileOptions, Instances, in_order, label_names, read_instances
from attest.datamodules.notice import option, some
from attest.datamodules.rows import UTF_8
from attest.datamodules.stored import StoredDataModule, split_at_random
from attest.datamodules.tokenisers import sentence_lengths, spacy_tokens

TYPED = ("DATA=files", "--data.init_args.train=<file>", "--data.init_args.test=<file>")


class FilesDataModule(StoredDataModule):
    """A data set of the user in CSV, TSV, JSONL or parquet files or on the Hub, for classification or tagging.

    Columns: the user names them, or they are guessed from usual names and printed. A text is a string (spaCy's blank English
             tokenizer, lower case) or a list of words (taken unchanged). A label is a string, number or truth value. In
             tagging, words and tags are lists of the same length, or strings with blanks between words and between tags.
    Classes: those of the training file, in the order of their numbers or of the alphabet, ``O`` first.
    Splits:  as given. Without ``validation``, the share ``validation_share`` of the training texts, drawn by ``split_seed``,
             is validation, stratified by class in classification; copies of a text are in the same split if there are enough
             different texts.
    Bad row: the text or label is missing, the label is not in the training file, tags are not as many as words, bytes are not
             in the file's encoding, or a line is no JSON or has another number of cells. Bad rows are counted and shown with
             file and line.
    Batch:   as in ``TextDataModule``; ``id`` is the row in the file, from 0, where bad rows count, too.
    Raises:  AttestError: a file is missing, broken, without rows or given for two splits; bad rows are refused; the labels are
             not classes, or are all the same; or a class has too few texts to draw a validation set.

    Args:
        train, test: paths or Hub ids; of a Hub dataset, the split with the name of the argument is read.
        validation: path or Hub id; None to draw validation texts from ``train``.
        text_column: the column of the texts, or of the words in tagging; None to guess.
        label_column: the column of the labels, or of the tags in tagging; None to guess.
        tagging: whether there is one tag for each word instead of one label for each text; None to guess.
        on_bad_rows: ``refuse`` to refuse the data, ``skip`` to leave out bad rows.
        validation_share: share of the training texts that becomes validation, in (0, 1).
        split_seed: the seed that draws the validation texts.
        encoding: encoding of CSV, TSV and JSONL files, by a name that Python knows: ``latin-1``, ``cp1252``, ``utf-16``.
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
        encoding: str = UTF_8,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        sources = {"train": train, "validation": validation, "test": test}
        self.sources = {split: source for split, source in sources.items() if source}
        form = None if tagging is None else Tags() if tagging else Form()
        self.file_options = FileOptions(text_column, label_column, form, encoding, on_bad_rows)
        self.validation_share = validation_share
        self.split_seed = split_seed
        self.in_words = bool(self.expected and self.expected.record.tokenising["in_words"])
        """Whether each text in the user's files is a list of words, and not a string. Set when the files are read; before
        that, it is what the record of a trained model's data says, if there is one."""

    def tokenising(self) -> dict[str, Any]:
        return super().tokenising() | {"in_words": self.in_words}

    def split_sources(self) -> dict[str, str]:
        train = self.sources["train"]  # of which validation is cut where it has no file of its own
        sources = {"train": train, "validation": self.sources.get("validation", train), "test": self.sources["test"]}
        paths = {split: Path(source).expanduser() for split, source in sources.items()}
        return {split: str(path.absolute()) if path.is_file() else sources[split] for split, path in paths.items()}

    def read(self) -> Corpus:
        self._require_sources()
        instances, columns = read_instances(self.sources, self.file_options, classes=True)
        self.in_words = columns.words
        names = in_order({name for label in instances["train"].labels for name in label_names(label)})
        splits = {split: self._decided(found, names, columns.form.tagging) for split, found in instances.items()}
        if "validation" not in splits:
            splits["train"], splits["validation"] = self._parted(splits["train"], names)
        return Corpus(**splits, vocabulary=self.fit_vocabulary(splits["train"].table["tokens"]), label_names=names)

    def _require_sources(self) -> None:
        missing = [split for split in ("train", "test") if split not in self.sources]
        if missing:
            raise AttestError(
                f"DATA=files was given no {missing[0]} file; expected a file for training and a file for testing. Type: "
                f"{spelled('fit', *TYPED)}"
            )
        if not 0 < self.validation_share < 1:
            raise AttestError(f"`validation_share` is {self.validation_share}; expected a share between 0 and 1, such as 0.1.")
        files = {split: path for split, source in self.sources.items() if (path := Path(source).expanduser()).is_file()}
        for (split, file), (other, same) in combinations(files.items(), 2):
            if file.samefile(same):
                raise AttestError(
                    f"{self.sources[split]} is given both as the {split} file and as the {other} file; expected files with "
                    "different texts, because a score on the training texts does not show how well a model works. Give "
                    f"another file with {option(other, '<file>')}"
                )

    def _decided(self, instances: Instances, names: tuple[str, ...], tagging: bool) -> Documents:
        number_of = {name: number for number, name in enumerate(names)}
        ids, texts = instances.numbers, instances.texts()
        numbers = [[number_of[name] for name in label_names(label)] for label in instances.labels]
        labels = None if tagging else [number for (number,) in numbers]
        if not self.in_words:
            return self.documents(ids, pa.array(texts, pa.string()), labels)
        sentences = [list(sentence_lengths(text)) for text in texts] if self.sentences else None
        return Documents.of(ids, texts, label=labels, tags=numbers if tagging else None, sentences=sentences)

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return TextDataModule.tokenise(self, texts) if self.in_words else spacy_tokens(texts)

    def _parted(self, documents: Documents, names: tuple[str, ...]) -> tuple[Documents, Documents]:
        """Split texts into training and validation, if possible with all copies of a text in the same split."""
        with suppress(ValueError):  # scikit-learn refuses: too few different texts
            return self._cut(documents, documents.as_read.dictionary_encode().indices.to_numpy())
        try:
            return self._cut(documents, np.arange(len(documents)))
        except ValueError as error:  # scikit-learn refuses: too few texts of a class
            counts = Counter([] if documents.labels is None else documents.labels.tolist())
            alone = [names[label] for label, count in counts.items() if count == 1]
            cut = f"{ceil(self.validation_share * len(documents))} for {len(names)} classes"
            reason = f"only one text has the label {some([*map(repr, alone)])}" if alone else cut
            raise AttestError(
                f"{self.sources['train']}: {self.validation_share:.0%} of {len(documents)} texts cannot be set aside for "
                f"validation with every class in both parts ({reason}). Give more texts, choose another share with "
                f"{option('validation_share', '<share>')}, or give a validation file with {option('validation', '<file>')}."
            ) from error

    def _cut(self, documents: Documents, texts: np.ndarray) -> tuple[Documents, Documents]:
        """Split documents at random into two parts; documents with equal numbers in ``texts`` stay together."""
        different, first = np.unique(texts, return_index=True)
        labels = None if documents.labels is None else documents.labels[first]
        parts = split_at_random(different, self.validation_share, self.split_seed, labels)
        train, validation = (documents.where(np.isin(texts, part)) for part in parts)
        return train, validation
