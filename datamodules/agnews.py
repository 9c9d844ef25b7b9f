"""The corpus AG News as Jain & Wallace 2019 use it: news articles in two of the four classes, world and business."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.errors import AttestError
from attest.datamodules.corpus import Corpus
from attest.datamodules.stored import StoredDataModule, Tables
from attest.datamodules.tokenisers import masked_tokens, spacy_tokens

WORLD, BUSINESS = 1, 3
"""The class numbers, in the source, of the two classes that are read. The source has four: 1 world, 2 sports, 3 business, 4
science and technology."""
MIN_DF = 5


class AgNewsDataModule(StoredDataModule):
    """A corpus of news articles in two classes, world and business (Zhang, Zhao & LeCun, 2015).

    Classes: 0 world, 1 business; sports and science are left out.
    Recipes: ``jw-paper`` (the code before April 2019): the description without its title; runs of blanks become one blank,
             spaCy's blank English tokenizer, lower case, ``qqq`` instead of a token with a digit; the vocabulary has the words
             of at least 5 texts of the training file. The code of that time drew no validation set and chose the best epoch on
             test; here a tenth of the training file, stratified and drawn by ``split_seed``, is validation. The code's length
             filter, which drops the shortest and the longest texts of a split, is left out, because the published counts are
             those of whole splits.
             ``plain``: title and description, spaCy's blank English tokenizer and lower case; the same tenth is validation;
             the vocabulary has the words of at least 5 texts of the remaining training file.
    Counts:  published are train 30000 / 30000, test 1900 / 1900, |V| = 14752, mean length 36. They were not reproduced
             here: the loader was tried only on small files with the columns of the source.
    Source:  ``agnews/{train,test}.parquet`` in the folder named by ``ATTEST_DATA``, else ``sh0416/ag_news`` on the Hub, which
             keeps title and description apart: ``label`` int64 from 1 to 4, ``title``, ``description``.
    Batch:   as in ``TextDataModule``; ``id`` is the row in the split's file, where rows of left-out classes count, too.
    Raises:  AttestError: no source can be read, or classes are numbered from 0; the message says what to do.

    Args:
        protocol: name of one of the recipes above.
        split_seed: the seed that draws the validation set.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "agnews"
    columns = ("label", "title", "description")
    names = ("world", "business")

    def __init__(self, protocol: Literal["jw-paper", "plain"] = "jw-paper", split_seed: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.protocol = protocol
        self.split_seed = split_seed

    def prepare(self, tables: Tables) -> Corpus:
        whole, test = self.tokenised(tables["train"]), self.tokenised(tables["test"])
        train, validation = self.tenth_apart(whole)
        known = whole if self.protocol == "jw-paper" else train
        return Corpus(train, validation, test, self.fit_vocabulary(known.table["tokens"], MIN_DF), self.names)

    def labelled(self, table: pa.Table) -> pa.Table:
        least, most = pc.min(table["label"]).as_py(), pc.max(table["label"]).as_py()
        if least is not None and (least < 1 or most > 4):  # in copies numbered from 0, 1 and 3 are sports and science
            raise AttestError(
                f"the labels of agnews go from {least} to {most}; expected the numbers 1 (world), 2 (sports), 3 (business), 4 "
                "(science). Number the classes from 1 to 4."
            )
        rows = np.flatnonzero(pc.is_in(table["label"].cast(pa.int64()), value_set=pa.array([WORLD, BUSINESS])))
        table = table.take(rows)
        labels = pc.equal(table["label"], BUSINESS).cast(pa.int64())
        texts = table["description"]
        if self.protocol == "plain":
            texts = pc.binary_join_element_wise(table["title"], texts, " ")
        return pa.table({"id": pa.array(rows, pa.int64()), "text": texts, "label": labels})

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return masked_tokens(texts) if self.protocol == "jw-paper" else spacy_tokens(texts)
