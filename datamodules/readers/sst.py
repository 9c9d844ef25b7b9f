"""The Stanford Sentiment Treebank as Jain & Wallace 2019 use it: whole sentences, two classes."""

from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.catalogue import CATALOGUE
from attest.datamodules.corpus import SPLITS, Corpus, Documents
from attest.datamodules.fingerprint import Fingerprint
from attest.datamodules.hub import PARQUET, load_hub_split
from attest.datamodules.readers.stored import StoredReader, Tables, between
from attest.datamodules.sources import load_split
from attest.datamodules.tokenisers import spacy_tokens, treebank_tokens

NEUTRAL = 2


class SstReader(StoredReader):
    """Sentences of two classes, as described in ``SstDataModule``.

    Args:
        options: as in ``CorpusReader``; the others as in ``SstDataModule``.
    """

    folder = "sst"
    names = ("negative", "positive")
    hub = CATALOGUE["sst"].hub
    known: ClassVar[dict[str, Fingerprint]] = {
        "train": Fingerprint(8544, "f927aea0a939632f", "1c2f780d984f1136"),
        "validation": Fingerprint(1101, "b964d93a5095e3dc", "f2da76001e90a53f"),
        "test": Fingerprint(2210, "c9f911e998d3ed85", "7d566c0378371103"),
    }

    def __init__(self, protocol: Literal["jw-paper", "jw-current", "plain"] = "jw-current", **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"protocol": self.protocol}

    def tables(self) -> Tables:
        return {
            split: load_split(self.folder, split, ("text", "label"), lambda split: load_hub_split(self.hub, split, PARQUET))
            for split in SPLITS
        }

    def prepare(self, tables: Tables) -> Corpus:
        splits = {split: self._decided(table) for split, table in tables.items()}
        known = SPLITS if self.protocol == "jw-paper" else ("train",)
        vocabulary = self.fit_vocabulary(pa.chunked_array([splits[split].table["tokens"].combine_chunks() for split in known]))
        if self.protocol != "plain":
            splits = {split: between(documents, 5) for split, documents in splits.items()}
        return Corpus(**splits, vocabulary=vocabulary, label_names=self.names)

    def _decided(self, table: pa.Table) -> Documents:
        table = self.labelled(table)
        return self.documents(table["id"], table["text"].combine_chunks(), self.tokenise, table["label"])

    def labelled(self, table: pa.Table) -> pa.Table:
        """The sentences that are not neutral."""
        table = table.append_column("id", pa.array(range(len(table)), pa.int64()))
        table = table.filter(pc.not_equal(table["label"], NEUTRAL)).combine_chunks()
        labels = pc.greater(table["label"], NEUTRAL).cast(pa.int64())
        return table.set_column(table.column_names.index("label"), "label", labels)

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return spacy_tokens(texts) if self.protocol == "plain" else treebank_tokens(texts)
