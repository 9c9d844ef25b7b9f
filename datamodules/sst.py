"""The Stanford Sentiment Treebank as Jain & Wallace 2019 use it: whole sentences in two classes."""

from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.corpus import SPLITS, Corpus
from attest.datamodules.sources import PARQUET, Fingerprint
from attest.datamodules.stored import StoredDataModule, Tables, between
from attest.datamodules.tokenisers import spacy_tokens, treebank_tokens

NEUTRAL = 2


class SstDataModule(StoredDataModule):
    """A corpus of sentences from movie reviews in two classes, negative and positive (Socher et al., 2013).

    Classes: 0 negative (very negative, negative), 1 positive (positive, very positive); neutral sentences are dropped.
    Splits:  the treebank's own, 6920 / 872 / 1821 sentences.
    Recipes: ``jw-current`` (the released code since April 2019): brackets and all non-word characters become blanks, spaCy's
             blank English tokenizer, then lower case; the vocabulary is that of the training split before filtering; last,
             only sentences are kept that are longer than 5 tokens and shorter than the longest sentence of their split.
             ``jw-paper`` (the code before): as ``jw-current``, but with the vocabulary of all three splits.
             ``plain``: spaCy's blank English tokenizer and lower case; bracket codes and punctuation are kept, and no sentence
             is filtered out; the vocabulary is that of the training split.
    Counts:  under both ``jw`` recipes 6355 train (3034 / 3321), 821 validation (397 / 424) and 1725 test (863 / 862)
             sentences, mean length 18.70 in train; |V| = 13826 (current) and 16175 (paper), counting <SOS> and <EOS>. All
             numbers are as published; the published mean is rounded to 19.
    Source:  the treebank's sentences with its five classes, ``sst/{train,validation,test}.parquet`` in the folder named by
             ``ATTEST_DATA``, else ``SetFit/sst5`` on the Hub, which may differ in order, case and escapes.
    Batch:   as in ``TextDataModule``; ``id`` is the row in the split's file, where neutral sentences count, too.
    Raises:  AttestError: no source can be read; the message says what to do.

    Args:
        protocol: name of one of the recipes above.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "sst"
    splits = SPLITS
    columns = ("text", "label")
    revision = PARQUET
    names = ("negative", "positive")
    known: ClassVar[dict[str, Fingerprint]] = {
        "train": Fingerprint(8544, "f927aea0a939632f", "1c2f780d984f1136"),
        "validation": Fingerprint(1101, "b964d93a5095e3dc", "f2da76001e90a53f"),
        "test": Fingerprint(2210, "c9f911e998d3ed85", "7d566c0378371103"),
    }

    def __init__(self, protocol: Literal["jw-paper", "jw-current", "plain"] = "jw-current", **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol

    def prepare(self, tables: Tables) -> Corpus:
        splits = {split: self.tokenised(table) for split, table in tables.items()}
        known = SPLITS if self.protocol == "jw-paper" else ("train",)
        vocabulary = self.fit_vocabulary(pa.chunked_array([splits[split].table["tokens"].combine_chunks() for split in known]))
        if self.protocol != "plain":
            splits = {split: between(documents, 5) for split, documents in splits.items()}
        return Corpus(**splits, vocabulary=vocabulary, label_names=self.names)

    def labelled(self, table: pa.Table) -> pa.Table:
        table = table.append_column("id", pa.array(range(len(table)), pa.int64()))
        table = table.filter(pc.not_equal(table["label"], NEUTRAL)).combine_chunks()
        labels = pc.greater(table["label"], NEUTRAL).cast(pa.int64())
        return table.set_column(table.column_names.index("label"), "label", labels)

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return spacy_tokens(texts) if self.protocol == "plain" else treebank_tokens(texts)
