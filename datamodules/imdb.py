"""The IMDb reviews as Jain & Wallace 2019 use them: whole reviews in two classes."""

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.sources import Fingerprint
from attest.datamodules.stored import StoredDataModule, Tables, between, split_at_random
from attest.datamodules.tokenisers import keep_tokens, review_tokens

JW_SEED = 1378
JW_LONGEST = 400


class ImdbDataModule(StoredDataModule):
    """A corpus of movie reviews from IMDb in two classes, negative and positive (Maas et al., 2011).

    Classes: 0 negative, 1 positive.
    Words:   those of Keras' word index, from which Jain & Wallace start: ASCII punctuation except the apostrophe separates
             words, so that ``<br />`` leaves the word ``br``; ASCII letters are lower-cased.
    Recipes: ``jw-current`` (the released code): positive reviews come before negative ones; words that are not in train are
             dropped from test; reviews of 400 words and more are left out; ``train_test_split(random_state=1378)`` draws a
             fifth of test as test, and a fifth of train as validation; the vocabulary has the words of at least 10 reviews of
             the remaining train; last, only reviews are kept that are longer than 6 tokens and shorter than the longest review
             of their split.
             ``jw-paper`` (before April 2019): the vocabulary has the words of at least 20 reviews, of train and of all test
             reviews under 400 words. The code of that time drew no validation set and chose the best epoch on test; here
             validation is drawn from the unused test reviews under 400 words, as many as test has.
             ``plain``: 25,000 train and 25,000 test as published, nothing dropped; a tenth of train, stratified and drawn by
             ``split_seed``, is validation; the vocabulary has the words of at least 10 reviews of the rest of train.
    Counts:  ``jw-current``: train 8667 / 8533, validation 2187 / 2110, test 2184 / 2172, |V| = 12487 counting <SOS> and
             <EOS>. ``jw-paper``: train 10854 / 10643, test 2184 / 2172, |V| = 13916, mean length 179.65. All are as published
             except train: the published 12500 / 12500 are the corpus before the length filter, not what the code trains on.
    Source:  ``imdb/{train,test}.parquet`` in the folder named by ``ATTEST_DATA``, else ``stanfordnlp/imdb`` on the Hub. The
             random splits depend on the order of the rows: in another order, other reviews are drawn.
    Batch:   as in ``TextDataModule``; ``id`` is the row of the review in its file.
    Raises:  AttestError: no source can be read; the message says what to do.

    Args:
        protocol: name of one of the recipes above.
        split_seed: the seed that draws the validation set of ``plain``; the other recipes use the seeds of the papers.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "imdb"
    columns = ("text", "label")
    names = ("negative", "positive")
    known: ClassVar[dict[str, Fingerprint]] = {
        "train": Fingerprint(25000, "3ad3e348e0c682a2", "f80fe9b1c33540bd"),
        "test": Fingerprint(25000, "7fe24172096abb28", "c349b702b3558638"),
    }

    def __init__(
        self, protocol: Literal["jw-paper", "jw-current", "plain"] = "jw-current", split_seed: int = 0, **options: Any
    ) -> None:
        super().__init__(**options)
        self.protocol = protocol
        self.split_seed = split_seed

    def prepare(self, tables: Tables) -> Corpus:
        train = self.tokenised(tables["train"])
        if self.protocol == "plain":
            train, validation = self.tenth_apart(train)
            test = self.tokenised(tables["test"])
            return Corpus(train, validation, test, self.fit_vocabulary(train.table["tokens"], 10), self.names)
        words = pc.unique(train.flat("tokens"))
        test = self.tokenised(tables["test"], partial(tokens_among, words))
        return self._jain_wallace(_short(train), _short(test))

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return review_tokens(texts)

    def labelled(self, table: pa.Table) -> pa.Table:
        return table.append_column("id", pa.array(range(len(table)), pa.int64()))

    def _jain_wallace(self, train: Documents, short_test: Documents) -> Corpus:
        chosen, unused = split_at_random(np.arange(len(short_test)), 0.8, JW_SEED)
        test = between(short_test.take(chosen), 6)
        if self.protocol == "jw-paper":
            known = pa.chunked_array([*train.table["tokens"].chunks, *short_test.table["tokens"].chunks])
            validation = between(short_test.take(unused[: len(chosen)]), 6)
            return Corpus(between(train, 6), validation, test, self.fit_vocabulary(known, 20), self.names)
        rows = split_at_random(np.arange(len(train)), 0.2, JW_SEED)
        train, validation = (train.take(part) for part in rows)
        vocabulary = self.fit_vocabulary(train.table["tokens"], 10)
        return Corpus(between(train, 6), between(validation, 6), test, vocabulary, self.names)


def tokens_among(words: pa.Array, texts: pa.Array) -> pa.Array:
    """Tokenise reviews and keep only the tokens that are in ``words``."""
    tokens = review_tokens(texts)
    return keep_tokens(tokens, pc.is_in(pc.list_flatten(tokens), value_set=words))


def _short(reviews: Documents) -> Documents:
    positives_first = np.argsort(-reviews.table["label"].to_numpy(), kind="stable")
    reviews = reviews.take(positives_first)
    return reviews.where(reviews.lengths < JW_LONGEST)
