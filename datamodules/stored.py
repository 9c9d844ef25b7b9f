"""The base classes of corpora in files: ``StoredDataModule``, and ``QuestionDataModule`` for corpora with questions."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.catalogue import CATALOGUE, DATA_VARIABLE
from attest.core.errors import AttestError
from attest.datamodules.base import TextDataModule
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.sources import (
    Fingerprint,
    load_hub_split,
    local_file,
    read_parquet,
    require_columns,
)
from attest.datamodules.tokenisers import Tokeniser, tokenise_sentences
from attest.datamodules.vocabulary import Vocabulary

VALIDATION = 0.1
"""The share of the training texts that is split off for validation if a corpus has no validation set."""
Tables = dict[str, pa.Table]


class StoredDataModule(TextDataModule):
    """A corpus in files; a subclass names the files and prepares their content in ``prepare``."""

    folder: ClassVar[str]
    """The name of the corpus's folder below the folder that the environment variable ``ATTEST_DATA`` names."""
    splits: tuple[str, ...] = ("train", "test")
    """The names of the splits that the source of the corpus has."""
    columns: tuple[str, ...]
    """The names of the columns that are read from each split."""
    revision: str | None = None
    """The branch of the repository on the Hub; None for the main one."""
    names: tuple[str, ...] = ()
    """The names of the classes, or of the tags of a tagging corpus; the index is the number of the class or tag."""
    known: ClassVar[dict[str, Fingerprint]] = {}
    """The fingerprint (hashes of the content), by split, of the data that give the counts in the paper. Data with another
    fingerprint are accepted, with a message."""
    split_seed: int
    """The seed with which validation texts are drawn from the training texts, if the corpus has no validation set."""

    @property
    def hub(self) -> str:
        """Return the name of the corpus's repository on the Hugging Face Hub."""
        if self.folder not in CATALOGUE:
            raise AttestError(
                f"the corpus {self.folder} has no public source; expected {DATA_VARIABLE} set to a folder with this corpus, "
                "or an entry for it in CATALOGUE of attest/core/catalogue.py."
            )
        return CATALOGUE[self.folder].hub

    def tables(self) -> Tables:
        """Return the unchanged splits of the source as tables with one row for each instance."""
        return {split: self.table(split) for split in self.splits}

    def table(self, split: str) -> pa.Table:
        """Return a split of the source from the local folder if there is one, else from the public source."""
        file = local_file(self.folder, f"{split}.parquet")
        if file is None:
            return require_columns(self.public(split), self.columns, f"the public source of {self.folder}")
        return require_columns(read_parquet(file), self.columns, str(file))

    def public(self, split: str) -> pa.Table:
        """Download a split from its public source."""
        return load_hub_split(self.hub, split, self.revision)

    def prepare(self, tables: Tables) -> Corpus:
        """Tokenise, split and filter the tables of the source, and return the corpus."""
        raise NotImplementedError(f"{type(self).__name__} must say how a corpus is made of its files: define prepare.")

    def labelled(self, table: pa.Table) -> pa.Table:
        """Return ``id``, ``text`` and ``label`` of all instances in a split of the source, before any filter."""
        raise NotImplementedError(f"{type(self).__name__} must say what its texts and labels are: define labelled.")

    def originals(self, split: str) -> tuple[list[Any], list[Any]]:
        """Return the unchanged texts of a split, strings or lists of words, and the names of their classes or tags."""
        tables = self.tables()
        if split not in tables:
            raise AttestError(f"{self.folder} has no {split} split in its source; expected one of: {', '.join(tables)}.")
        table = self.labelled(tables[split])
        pairs = zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)
        texts, labels = zip(*((text, label) for text, label in pairs if text), strict=True)
        named = [[self.names[each] for each in label] if isinstance(label, list) else self.names[label] for label in labels]
        return list(texts), named

    def tokenising(self) -> dict[str, Any]:
        return {"spacy": version("spacy")}

    def read(self) -> Corpus:
        """Read the corpus from its source, and print a message if the source differs from the known version."""
        tables = self.tables()
        for split, known in self.known.items():
            if difference := Fingerprint.of(tables[split]).difference(known):
                source = f"the folder in {DATA_VARIABLE}" if os.environ.get(DATA_VARIABLE) else "the public source"
                say(
                    f"{self.folder}: the {split} split of {source} contains {difference}; counts and scores of this run may "
                    "differ from the published numbers."
                )
        return self.prepare(tables)

    def words_of(self, texts: Sequence[str]) -> Documents:
        return self.documents(range(len(texts)), pa.array(texts, pa.string()), None)

    def tokenised(self, table: pa.Table, tokeniser: Tokeniser | None = None) -> Documents:
        """Tokenise the texts of a split with ``tokeniser`` or, if it is None, with ``tokenise``; return documents."""
        table = self.labelled(table)
        return self.documents(table["id"], table["text"].combine_chunks(), table["label"], tokeniser)

    def documents(self, ids: Any, texts: pa.Array, labels: Any, tokeniser: Tokeniser | None = None) -> Documents:
        """Tokenise texts and return them as documents; if ``sentences`` is set, add the sentence lengths."""
        tokeniser = tokeniser or self.tokenise
        if not self.sentences:
            return Documents.of(ids, tokeniser(texts), label=labels)
        tokens, sentences = tokenise_sentences(texts, tokeniser)
        return Documents.of(ids, tokens, label=labels, sentences=sentences)

    def tenth_apart(self, documents: Documents) -> tuple[Documents, Documents]:
        """Split texts at random into nine tenths for training and one tenth for validation.

        ``split_seed`` draws the parts; in classification, they are stratified by class.
        """
        parts = split_at_random(np.arange(len(documents)), VALIDATION, self.split_seed, documents.labels)
        train, validation = (documents.take(np.sort(part)) for part in parts)
        return train, validation


def split_at_random(
    rows: np.ndarray, share: float, seed: int, labels: Sequence[int] | np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into two random parts with scikit-learn's ``train_test_split``, as the published code does."""
    from sklearn.model_selection import train_test_split  # a second that corpora with splits of their own need not wait for

    return tuple(train_test_split(rows, test_size=share, random_state=seed, stratify=labels))


def between(documents: Documents, shortest: int, longest: int | None = None) -> Documents:
    """Return the texts with more than ``shortest`` and fewer than ``longest`` tokens (None: the largest length)."""
    lengths = documents.lengths
    return documents.where((lengths > shortest) & (lengths < (longest or lengths.max())))


class QuestionDataModule(StoredDataModule):
    """A corpus of passages, each with a question and an answer; attention over a passage depends on its question.

    Raises:  AttestError: texts are to be read as sentences or in subwords, or come without questions.
    """

    has_questions = True

    def read(self) -> Corpus:
        if self.sentences or self.subwords is not None:
            name = "sentences" if self.sentences else "subwords"
            raise AttestError(
                f"{self.folder} has a question for each text, but data.init_args.{name} works only on texts without "
                "questions. Leave this option out, or type DATA=sst."
            )
        return super().read()

    def fit_words(self, documents: Documents, min_df: int = 1) -> Vocabulary:
        """Build the vocabulary of passages and questions; a passage and its question count as two texts."""
        texts = [documents.table[column].combine_chunks() for column in ("tokens", "question")]
        return self.fit_vocabulary(pa.concat_arrays(texts), min_df)

    def words_of(self, texts: Sequence[str]) -> Documents:
        raise AttestError(
            f"a model trained on {self.folder} needs a question for each text, and Attest reads questions only from the "
            "corpus; expected a run on texts without questions. To see the test texts of this run with their questions, type "
            "attest report --run <run folder>"
        )

    def originals(self, split: str) -> tuple[list[Any], list[Any]]:
        raise AttestError(
            f"{self.folder} has a question for each text, and Attest gives no questions to models from other libraries; "
            "expected a corpus without questions. Type --data sst."
        )


def classes(answers: pa.ChunkedArray, names: Sequence[str], where: str) -> pa.Array:
    """Return the class number of each answer, int64."""
    chunk = answers.combine_chunks()
    numbers = pc.index_in(chunk, value_set=pa.array(names, pa.string())).cast(pa.int64())
    if numbers.null_count:
        unknown = pc.unique(chunk.filter(numbers.is_null())).to_pylist()
        raise AttestError(
            f"{where} has answers that the training split does not have: {', '.join(map(repr, unknown[:5]))}; expected "
            f"answers from: {', '.join(names[:12])}. Correct these rows, or add such answers to the training split."
        )
    return numbers
