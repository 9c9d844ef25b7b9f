"""The corpus SNLI as Jain & Wallace 2019 use it: does a premise entail a hypothesis, contradict it, or neither?"""

from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError, said_by
from attest.datamodules.corpus import SPLITS, Corpus, Documents
from attest.datamodules.sources import load_hub_split, local_file, require_columns
from attest.datamodules.stored import QuestionDataModule, Tables, classes
from attest.datamodules.tokenisers import masked_tokens

COLUMNS = ("premise", "hypothesis", "label")
FIELDS = ("sentence1", "sentence2", "gold_label")
"""The names in the archive's JSON files of premise, hypothesis and label."""
NUMBERED = ("entailment", "neutral", "contradiction")
"""The names of the classes; the index is the number that the data set on the Hub uses for the class."""
UNDECIDED = "-"
"""The label, in the archive's files, of pairs on which the annotators did not agree. The data set on the Hub has -1 for it."""
MIN_DF = 3


class SnliDataModule(QuestionDataModule):
    """A corpus of sentence pairs (Bowman et al., 2015): the premise is the text, and the hypothesis is the question.

    Classes: 0 neutral, 1 contradiction, 2 entailment; pairs on which annotators did not agree are left out.
    Words:   as in Jain & Wallace's code: runs of blanks become one blank, spaCy's blank English tokenizer, lower case, ``qqq``
             instead of a token with a digit; the vocabulary has the words of at least 3 training premises and hypotheses.
    Splits:  as distributed.
    Batch:   as in ``TextDataModule``, with the hypothesis as the question; ``id`` is the number of the pair in its file, where
             pairs that are left out count, too.
    Counts:  published are train 182764 / 183187 / 183416, test 3219 / 3237 / 3368, |V| = 20982, mean length of a premise 14,
             accuracy 0.78. They were not reproduced here: the loader was tried only on small files in the published formats.
    Source:  ``snli/snli_1.0_{train,dev,test}.jsonl``, as the archive has them, in the folder named by ``ATTEST_DATA``, else
             ``stanfordnlp/snli`` on the Hub: ``premise``, ``hypothesis``, ``label``, 0 entailment, 1 neutral, 2 contradiction,
             -1 undecided.
    Raises:  AttestError: no source can be read, a line is not in the published format, or a label is not known.

    Args:
        protocol: always ``jw-paper``.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "snli"
    splits = SPLITS
    names = ("neutral", "contradiction", "entailment")

    def __init__(self, protocol: Literal["jw-paper"] = "jw-paper", **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol

    def table(self, split: str) -> pa.Table:
        file = local_file(self.folder, f"snli_1.0_{'dev' if split == 'validation' else split}.jsonl")
        if file is not None:
            return _pairs(file)
        table = require_columns(load_hub_split(self.hub, split), COLUMNS, self.hub)
        return table.set_column(2, "label", _named(table["label"], split))

    def prepare(self, tables: Tables) -> Corpus:
        splits = {split: self._asked(tables[split], split) for split in SPLITS}
        return Corpus(**splits, vocabulary=self.fit_words(splits["train"], MIN_DF), label_names=self.names)

    def _asked(self, table: pa.Table, split: str) -> Documents:
        table = table.append_column("id", pa.array(range(len(table)), pa.int64()))
        table = table.filter(pc.not_equal(table["label"], UNDECIDED)).combine_chunks()
        premises, hypotheses = (masked_tokens(table[column].combine_chunks()) for column in ("premise", "hypothesis"))
        labels = classes(table["label"], self.names, f"snli, the {split} split")
        return Documents.of(table["id"], premises, question=hypotheses, label=labels)


def _pairs(file: Path) -> pa.Table:
    try:
        pairs = pd.read_json(file, lines=True, dtype=False)[[*FIELDS]]
        if (place := pairs.isna().any(axis=1)).any():
            raise ValueError(f"its pair {place.argmax() + 1} is incomplete")
        return pa.table([pa.array(pairs[name], pa.string()) for name in FIELDS], names=COLUMNS)
    except (ValueError, KeyError, TypeError) as error:
        raise AttestError(
            f"{file} cannot be read ({said_by(error)}); expected lines of JSON with the strings {', '.join(FIELDS)}, as in "
            "the published files of SNLI. Copy the file again."
        ) from error


def _named(labels: pa.ChunkedArray, split: str) -> pa.Array:
    least, most = pc.min(labels).as_py(), pc.max(labels).as_py()
    if least is not None and (least < -1 or most >= len(NUMBERED)):
        raise AttestError(
            f"the labels of snli in the {split} split go from {least} to {most}; expected the numbers 0 (entailment), 1 "
            "(neutral), 2 (contradiction), -1 (undecided). Number the classes from 0 to 2."
        )
    return pa.array([*NUMBERED, UNDECIDED]).take(pc.if_else(pc.less(labels, 0), len(NUMBERED), labels).combine_chunks())
