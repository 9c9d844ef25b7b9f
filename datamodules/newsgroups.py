"""The corpus 20 Newsgroups as Jain & Wallace 2019 use it: posts about baseball or hockey, without their headers."""

from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.core.catalogue import out_of_reach
from attest.datamodules.corpus import TOKENS, Corpus, Documents
from attest.datamodules.sources import Fingerprint
from attest.datamodules.stored import StoredDataModule, Tables, between, split_at_random
from attest.datamodules.tokenisers import newsgroup_tokens

SPORTS = ("rec.sport.baseball", "rec.sport.hockey")
JW_SEED = 13478
JW_LONGEST = 500
MIN_DF = 2
LOADED_ORDER, POOLED_ORDER = 0, 42
"""The seeds of scikit-learn's two shuffles, which are repeated here: of each subset when it is loaded, and of both subsets
together for ``subset="all"``."""


class NewsgroupsDataModule(StoredDataModule):
    """A corpus of newsgroup posts; the class of a post is its newsgroup (Lang, 1995; the version split by date).

    Classes: the ``groups``, in their order; by default 0 baseball, 1 hockey.
    Text:    headers, signatures and quotations are removed by scikit-learn's functions in every recipe, because they reveal
             the newsgroup.
    Recipes: ``jw-current`` (the released code): train and test are pooled and shuffled as ``fetch_20newsgroups`` does; runs of
             blanks become one blank, spaCy's blank English tokenizer, lower case, ``qqq`` instead of a token with a digit, of
             each run of non-word characters only the last is kept; empty posts are dropped; a stratified fifth is test and a
             stratified fifth of the rest validation, ``random_state=13478``; the vocabulary has the words of at least 2 posts
             of train; last, only posts with more than 6 and fewer than 500 tokens are kept.
             ``jw-paper`` (before April 2019): empty posts stay until the last step (so the vocabulary contains the empty
             word), and the vocabulary is that of all posts. The code of that time drew no validation set and chose the best
             epoch on test; here a tenth of its train, stratified and drawn by ``split_seed``, is validation.
             ``plain``: split by date as distributed, only empty posts dropped; the same tokens; a tenth of train, stratified
             and drawn by ``split_seed``, is validation; the vocabulary has the words of at least 2 posts of the rest of train.
    Counts:  ``jw-current``: train 568 / 577, validation 140 / 138, test 179 / 178, |V| = 6517 (published: 6515).
             ``jw-paper``: train with its tenth 716 / 710 (as published), test 171 / 183 (published: 151 / 183, which
             looks like a misprint, as the other three counts agree), |V| = 8855 (published: 8853), mean length 115.6
             (published: 115). |V| counts <SOS> and <EOS>. Of the two additional words, one is due to spaCy 3.8 (published
             with 2.1), one is unexplained.
    Source:  ``20news/{train,test}.parquet``, raw posts, in the folder named by ``ATTEST_DATA``, else scikit-learn's
             ``fetch_20newsgroups``, which Jain & Wallace used.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of the train file and then those of the test file.
    Raises:  AttestError: no source can be read; the message says what to do.

    Args:
        protocol: name of one of the recipes above.
        groups: the newsgroups that are the classes, at least two.
        split_seed: the seed that draws the validation set of ``plain`` and ``jw-paper``; the other seeds are the paper's.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "20news"
    columns = ("text", "label_text")
    known: ClassVar[dict[str, Fingerprint]] = {
        "train": Fingerprint(11314, "0450800eb4b20930", "c9ff934d3aff79a8"),
        "test": Fingerprint(7532, "023d49890e7e4414", "797cbe452394d31b"),
    }

    def __init__(
        self,
        protocol: Literal["jw-paper", "jw-current", "plain"] = "jw-current",
        groups: tuple[str, ...] = SPORTS,
        split_seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.protocol = protocol
        self.groups = self.names = tuple(groups)
        self.split_seed = split_seed

    def public(self, split: str) -> pa.Table:
        return fetched(split)

    def prepare(self, tables: Tables) -> Corpus:
        posts = self.tokenised(pa.concat_tables([tables["train"], tables["test"]]))
        if self.protocol == "plain":
            return self._plain(posts, len(tables["train"]))
        return self._jain_wallace(posts.take(_pooled_order(posts.ids, len(tables["train"]), len(tables["test"]))))

    def labelled(self, table: pa.Table) -> pa.Table:
        ids = np.flatnonzero(pc.is_in(table["label_text"], value_set=pa.array(self.groups)))
        table = table.take(ids)
        texts = pa.array([stripped(text) for text in table["text"].to_pylist()], pa.string())
        labels = pc.index_in(table["label_text"], value_set=pa.array(self.groups)).cast(pa.int64())
        return pa.table({"id": pa.array(ids, pa.int64()), "text": texts, "label": labels})

    def tokenise(self, texts: pa.Array) -> pa.Array:
        return newsgroup_tokens(texts)

    def _plain(self, posts: Documents, train_posts: int) -> Corpus:
        posts = posts.where(posts.lengths > 0)
        train, test = posts.where(posts.ids < train_posts), posts.where(posts.ids >= train_posts)
        train, validation = self.tenth_apart(train)
        return Corpus(train, validation, test, self.fit_vocabulary(train.table["tokens"], MIN_DF), self.groups)

    def _jain_wallace(self, posts: Documents) -> Corpus:
        if self.protocol == "jw-paper":
            train, test = map(_of_jw_length, _fifth_apart(posts))
            train, validation = self.tenth_apart(train)
            empty = int((posts.lengths == 0).sum())  # an empty post has one empty word, as if it were split at blanks
            known = pa.chunked_array([*posts.table["tokens"].chunks, pa.array([[""]] * empty, TOKENS)])
            return Corpus(train, validation, test, self.fit_vocabulary(known, MIN_DF), self.groups)
        train, test = _fifth_apart(posts.where(posts.lengths > 0))
        train, validation = _fifth_apart(train)
        vocabulary = self.fit_vocabulary(train.table["tokens"], MIN_DF)
        return Corpus(_of_jw_length(train), _of_jw_length(validation), _of_jw_length(test), vocabulary, self.groups)


def _fifth_apart(posts: Documents) -> tuple[Documents, Documents]:
    rows, fifth = split_at_random(np.arange(len(posts)), 0.2, JW_SEED, posts.labels)
    return posts.take(rows), posts.take(fifth)


def _of_jw_length(posts: Documents) -> Documents:
    return between(posts, 6, JW_LONGEST)


def _pooled_order(ids: np.ndarray, train_posts: int, test_posts: int) -> np.ndarray:
    """Return the indices that put ``ids`` into the order of scikit-learn's ``subset="all"``, int64."""
    train, test = _shuffled(train_posts, LOADED_ORDER), _shuffled(test_posts, LOADED_ORDER) + train_posts
    pooled = np.concatenate([train, test])[_shuffled(train_posts + test_posts, POOLED_ORDER)]
    return np.searchsorted(ids, pooled[np.isin(pooled, ids)])


def _shuffled(size: int, seed: int) -> np.ndarray:
    order = np.arange(size)
    np.random.RandomState(seed).shuffle(order)
    return order


def stripped(post: str) -> str:
    """Remove header, signature and quotations from a post with scikit-learn's own functions."""
    from sklearn.datasets import _twenty_newsgroups as newsgroups  # private, but the very functions of its ``remove``

    body = newsgroups.strip_newsgroup_footer(newsgroups.strip_newsgroup_header(post))
    return newsgroups.strip_newsgroup_quoting(body).strip()


def fetched(split: str) -> pa.Table:
    """Download the raw posts of one split with scikit-learn, and return them in the order of their files."""
    from sklearn.datasets import fetch_20newsgroups

    try:
        posts = fetch_20newsgroups(subset=split, shuffle=False, n_retries=1)
    except OSError as error:
        raise out_of_reach("20 Newsgroups", "its archive") from error
    in_file_order = np.argsort(_shuffled(len(posts.data), LOADED_ORDER))
    names = [posts.target_names[label] for label in posts.target]
    return pa.table({"text": posts.data, "label_text": names}).take(in_file_order)
