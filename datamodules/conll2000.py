"""The corpus of CoNLL-2000 for text chunking, with one tag for each token."""

from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.sources import PARQUET, Fingerprint, load_hub_split
from attest.datamodules.stored import StoredDataModule, Tables

CHUNKS = ("ADJP", "ADVP", "CONJP", "INTJ", "LST", "NP", "PP", "PRT", "SBAR", "UCP", "VP")
TAGS = ("O", *(f"{place}-{chunk}" for chunk in CHUNKS for place in "BI"))


class Conll2000DataModule(StoredDataModule):
    """A corpus of Wall Street Journal sentences with a chunk tag for each token (Tjong Kim Sang & Buchholz, 2000).

    Classes: 23 tags in the BIO scheme, ``O`` first, then ``B-`` and ``I-`` of each kind of chunk in alphabetical order.
             ``I-LST`` occurs only in the test file; ``B-UCP``, ``I-UCP``, ``I-INTJ`` and ``I-PRT`` only in the training file.
    Splits:  8042 train, 894 validation, 2012 test sentences. ``split_seed`` divides the 8936 sentences of the training file at
             random; which sentences Yang (2020) held out is not known.
    Tokens:  as distributed, with upper case; the vocabulary is that of the 8042 training sentences.
    Source:  ``conll2000/{train,test}.parquet`` with string tags in the folder named by ``ATTEST_DATA``, else
             ``eriktks/conll2000`` on the Hub, whose empty last sentences are left out.
    Batch:   as in ``TextDataModule``, with ``tags`` and without ``label``; ``id`` is the number of the sentence in its file.
    Raises:  AttestError: no source can be read, or a tag is none of the 23; the message says what to do.

    Args:
        protocol: always ``plain``; Jain & Wallace did not use this corpus.
        split_seed: the seed that chooses the validation sentences.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "conll2000"
    columns = ("tokens", "chunk_tags")
    names = TAGS
    known: ClassVar[dict[str, Fingerprint]] = {
        "train": Fingerprint(8936, "94491a3c77da04ab", "1836e4f3ab97f6d0"),
        "test": Fingerprint(2012, "108e3f79053f9286", "98aeff7c638edc84"),
    }

    def __init__(self, protocol: Literal["plain"] = "plain", split_seed: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol
        self.split_seed = split_seed

    def tables(self) -> Tables:
        if self.sentences:
            raise AttestError(
                "conll2000 already consists of single sentences; expected sentences: false. Leave the option `sentences` out."
            )
        tables = super().tables()
        return {split: table.filter(pc.greater(pc.list_value_length(table["tokens"]), 0)) for split, table in tables.items()}

    def public(self, split: str) -> pa.Table:
        return load_hub_split(self.hub, split, PARQUET, names=True)

    def prepare(self, tables: Tables) -> Corpus:
        sentences, test = self._tagged(tables["train"]), self._tagged(tables["test"])
        train, validation = self.tenth_apart(sentences)
        return Corpus(train, validation, test, self.fit_vocabulary(train.table["tokens"]), TAGS)

    def _tagged(self, table: pa.Table) -> Documents:
        table = self.labelled(table)
        return Documents.of(table["id"], table["text"], tags=table["label"])

    def labelled(self, table: pa.Table) -> pa.Table:
        tags = table["chunk_tags"].combine_chunks()
        numbers = pc.index_in(pc.list_flatten(tags), value_set=pa.array(TAGS)).cast(pa.int64())
        if numbers.null_count:
            unknown = pc.unique(pc.list_flatten(tags).filter(pc.is_null(numbers))).to_pylist()
            raise AttestError(
                f"conll2000 has the tags {', '.join(map(str, unknown[:5]))}; expected the {len(TAGS)} of the shared task, "
                "such as B-NP. Give another corpus with DATA=files."
            )
        ids, tagged = pa.array(range(len(table)), pa.int64()), pa.ListArray.from_arrays(tags.offsets, numbers)
        return pa.table({"id": ids, "text": table["tokens"], "label": tagged})
