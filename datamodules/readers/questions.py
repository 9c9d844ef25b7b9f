"""What corpora with a question, or a hypothesis, beside each text share."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.readers.stored import Originals, StoredReader
from attest.datamodules.sources import DATA_VARIABLE
from attest.datamodules.vocabulary import Vocabulary
from attest.errors import AttestError


class QuestionReader(StoredReader):
    """Passages with a question and an answer each; attention is over the passage, the question is its query.

    Raises:  AttestError: texts are to be read as sentences or in subwords, or come without questions.

    Args:
        options: as in ``CorpusReader``.
    """

    has_questions = True
    """Only networks that declare ``reads_questions`` learn from it."""

    def read(self) -> Corpus:
        if self.sentences or self.subwords is not None:
            name = "sentences" if self.sentences else "subwords"
            raise AttestError(
                f"{self.folder} has a question beside each text, and data.init_args.{name} reads texts alone; expected "
                "another corpus for it. Leave it out, or type DATA=sst."
            )
        return super().read()

    def fit_words(self, documents: Documents, min_df: int = 1) -> Vocabulary:
        """The vocabulary of passages and questions, each a text of its own, as in Jain & Wallace's code."""
        texts = [documents.table[column].combine_chunks() for column in ("tokens", "question")]
        return self.fit_vocabulary(pa.concat_arrays(texts), min_df)

    def words_of(self, texts: Sequence[str]) -> Documents:
        raise AttestError(
            f"a text alone has no question, and a model of {self.folder} needs one; expected a run on texts alone. The report "
            "shows this run's own test texts with their questions: type attest report --run <run folder>"
        )

    def originals(self, split: str) -> Originals:
        raise AttestError(
            f"{self.folder} has a question beside each text, which no tokenizer of another model reads here; expected a "
            "corpus of texts alone. Type --data sst."
        )


def published_file(corpus: str, *patterns: str) -> Path | None:
    """A file of a corpus as it is published, below ``ATTEST_DATA``; None where that is not set.

    Args:
        corpus: its folder there.
        patterns: where the file may lie, the first that matches first; the likeliest one is named where none does.
    Raises:
        AttestError: none is there.
    """
    data = os.environ.get(DATA_VARIABLE)
    if not data:
        return None
    folder = Path(data).expanduser() / corpus
    found = [file for pattern in patterns for file in sorted(folder.glob(pattern))]
    if not found:
        raise AttestError(
            f"{DATA_VARIABLE} names a folder without {corpus}/{patterns[0]} (looked in {folder}); expected the files of "
            f"{corpus} as published. Put them there, or unset {DATA_VARIABLE}; or try stories made on the spot: type "
            "DATA=babi-generated"
        )
    return found[0]


def classes(answers: Any, names: Sequence[str], where: str) -> pa.Array:
    """The numbers of answers, int64.

    Args:
        answers: strings, an Arrow array.
        names: the answers that there are, by number.
        where: the split, for messages.
    Raises:
        AttestError: an answer is none of them.
    """
    chunk = answers.combine_chunks() if isinstance(answers, pa.ChunkedArray) else answers
    numbers = pc.index_in(chunk, value_set=pa.array(names, pa.string())).cast(pa.int64())
    if numbers.null_count:
        unknown = pc.unique(chunk.filter(numbers.is_null())).to_pylist()
        raise AttestError(
            f"{where} has the answers {', '.join(map(str, unknown[:5]))}; expected those that training knows: "
            f"{', '.join(names[:12])}. Correct these rows, or add such an answer to the training split."
        )
    return numbers
