"""The CNN corpus of questions as Jain & Wallace 2019 use it: which entity of an article fills the gap in a sentence."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.catalogue import CATALOGUE, DATA_VARIABLE
from attest.core.errors import AttestError
from attest.datamodules.corpus import SPLITS, Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.stored import QuestionDataModule, Tables
from attest.datamodules.vocabulary import Vocabulary

ENTITY = "@entity"
"""The beginning of the token of every entity, such as ``@entity3``."""
MIN_DF = 8


ASKED = pa.schema(dict.fromkeys(("passage", "question", "answer"), pa.string()))
"""The columns of the table of questions: an article, a question about it, and the entity that is the answer. Words are
separated by spaces."""


class CnnQaDataModule(QuestionDataModule):
    """A corpus of questions about CNN's articles (Hermann et al., 2015): which entity belongs in the gap of a sentence?

    Classes: the entities of the training articles, ``@entity0`` and so on. The candidates of a question are the entities that
             its article names; a network with ``among_candidates`` gives all other entities the probability 0.
    Words:   texts are split at blanks, as in the files; the vocabulary has every entity, and the words of at least 8 of the
             training articles and questions.
    Splits:  as distributed. A question is left out and counted if its answer is not in its own article, or in no training
             article.
    Batch:   as in ``TextDataModule``, with a question and candidates; ``id`` is the number of the question in its split.
    Counts:  published are 380298 questions to train on and 3198 to test, |V| = 70192, a mean length of 761 words and accuracy
             0.64. They were not reproduced here: the loader was tried only on small files in the published formats.
    Source:  below ``ATTEST_DATA``, ``cnn-qa/{train,dev,test}.txt`` as Chen et al. (2016) distribute the corpus and Jain &
             Wallace read it (question, answer and article in a line each, then entities; a blank line between questions), or
             ``cnn-qa/questions/{training,validation,test}/*.question`` as Hermann et al. distribute it (address, article,
             question, answer and entities with blank lines between).
    Raises:  AttestError: no source can be read, or a file is in another format.

    Args:
        protocol: always ``jw-paper``.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "cnn-qa"
    has_candidates = True

    def __init__(self, protocol: Literal["jw-paper"] = "jw-paper", **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol

    def tables(self) -> Tables:
        asked = ([each for file in files for each in _questions(file)] for files in _files())
        return {split: pa.Table.from_pylist(found, ASKED) for split, found in zip(SPLITS, asked, strict=True)}

    def prepare(self, tables: Tables) -> Corpus:
        documents = {}
        for split in SPLITS:
            columns = (tables[split][column].combine_chunks() for column in ("passage", "question"))
            passages, questions = map(pc.utf8_split_whitespace, columns)
            documents[split] = Documents.of(range(len(passages)), passages, question=questions)
        words = pc.unique(documents["train"].flat("tokens"))
        self.names = tuple(sorted(words.filter(pc.starts_with(words, ENTITY)).to_pylist()))
        known = self.fit_words(documents["train"], MIN_DF).words
        splits = {split: self._asked(documents[split], tables[split]["answer"], split) for split in SPLITS}
        return Corpus(**splits, vocabulary=Vocabulary(sorted({*known, *self.names})), label_names=self.names)

    def _asked(self, documents: Documents, answers: pa.ChunkedArray, split: str) -> Documents:
        names = pa.array(self.names, pa.string())
        row, candidate = _named(documents, names)
        answer = pc.fill_null(pc.index_in(answers.combine_chunks(), value_set=names).cast(pa.int64()), -1).to_numpy()
        answerable = np.isin(np.arange(len(documents)), row[candidate == answer[row]])
        if not answerable.all():
            say(
                f"{self.folder}: {(~answerable).sum()} of {len(documents)} questions of the {split} split are left out: their "
                "article, or all of training, does not name the answer."
            )
        bounds = np.searchsorted(row, np.arange(len(documents) + 1))
        candidates = pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), pa.array(candidate, pa.int64()))
        table = documents.table.append_column("candidates", candidates).append_column("label", pa.array(answer))
        return Documents(table).where(answerable)


def _files() -> list[list[Path]]:
    data, source = os.environ.get(DATA_VARIABLE), CATALOGUE[CnnQaDataModule.folder]
    files = [*source.found(Path(data).expanduser() / CnnQaDataModule.folder).values()] if data else []
    if not files or not all(files):
        where = f"{DATA_VARIABLE} names a folder without this corpus" if data else f"{DATA_VARIABLE} is not set"
        raise AttestError(
            f"the CNN corpus is not downloaded automatically, and {where}; expected the files cnn-qa/train.txt, dev.txt and "
            "test.txt, or the folders cnn-qa/questions/training, validation and test. Get the questions from "
            f"{source.archive}, unpack them into these folders, and type export {DATA_VARIABLE}=<the folder that holds cnn-qa>"
        )
    return files


def _questions(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        blocks = ([line.rstrip("\n") for line in block] for blank, block in groupby(lines, key=str.isspace) if not blank)
        if file.suffix == ".question":
            yield _asked([block[0] for block in blocks], (1, 2, 3), str(file), "address, article, question and answer")
            return
        for count, block in enumerate(blocks, start=1):
            yield _asked(block, (2, 0, 1), f"{file}, question {count},", "question, answer and article")


def _asked(parts: list[str], places: tuple[int, int, int], where: str, expected: str) -> dict[str, str]:
    asked = {name: parts[place].strip() for name, place in zip(ASKED.names, places, strict=True) if place < len(parts)}
    answer = asked.get("answer", "")
    if len(asked) < len(ASKED) or not answer.startswith(ENTITY) or " " in answer:
        raise AttestError(
            f"{where} has {len(parts)} parts (the first: {parts[0][:40] if parts else ''!r}); expected {expected}, "
            f"with one {ENTITY} as the answer. Copy the file again."
        )
    return asked


def _named(documents: Documents, names: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return M pairs of a passage and an entity in it: rows of passages and classes of entities, int64 ``(M,)``."""
    passages = documents.table["tokens"].combine_chunks()
    classes = pc.index_in(pc.list_flatten(passages), value_set=names)
    row, found = (
        pc.drop_null(each) for each in (pc.if_else(classes.is_valid(), pc.list_parent_indices(passages), None), classes)
    )
    pairs = np.unique(row.to_numpy().astype(np.int64) * len(names) + found.to_numpy())
    return pairs // len(names), pairs % len(names)
