"""The real corpora give the counts that data/README.md reproduces, to the last text and word."""

from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest

from attest.datamodules import Conll2000DataModule, ImdbDataModule, NewsgroupsDataModule, SstDataModule
from attest.datamodules import imdb as imdb_recipe
from attest.datamodules import newsgroups as newsgroups_recipe
from attest.datamodules.corpus import SPLITS, Corpus, Documents
from attest.datamodules.stored import StoredDataModule, split_at_random
from attest.datamodules.vocabulary import BOUNDARIES, SPECIALS
from benchmarks.counts import UNEXPLAINED, checked, main

pytestmark = pytest.mark.corpora
MODULES = {"sst": SstDataModule, "imdb": ImdbDataModule, "20news": NewsgroupsDataModule, "conll2000": Conll2000DataModule}


@cache
def corpus_of(name: str, protocol: str) -> Corpus:
    return MODULES[name](protocol=protocol).corpus


@cache
def imdb_reviews(split: str) -> Documents:
    module = ImdbDataModule()
    return module.tokenised(module.tables()[split])


@cache
def newsgroup_posts() -> Documents:
    module = NewsgroupsDataModule()
    tables = module.tables()
    posts = module.tokenised(pa.concat_tables([tables["train"], tables["test"]]))
    return posts.take(newsgroups_recipe._pooled_order(posts.ids, len(tables["train"]), len(tables["test"])))


def by_class(documents: Documents) -> list[int]:
    return np.bincount(documents.labels).tolist()


@pytest.mark.parametrize(
    ("name", "protocol", "train", "validation", "test", "published_size"),
    [
        ("sst", "jw-paper", [3034, 3321], [397, 424], [863, 862], 16175),
        ("sst", "jw-current", [3034, 3321], [397, 424], [863, 862], 13826),
        ("imdb", "jw-paper", [10854, 10643], [2198, 2160], [2184, 2172], 13916),
        ("imdb", "jw-current", [8667, 8533], [2187, 2110], [2184, 2172], 12487),
        ("20news", "jw-paper", [644, 639], [72, 71], [171, 183], 8855),
        ("20news", "jw-current", [568, 577], [140, 138], [179, 178], 6517),
    ],
)
def test_jain_and_wallace_recipes_give_the_reproduced_counts(name, protocol, train, validation, test, published_size):
    corpus = corpus_of(name, protocol)
    assert [by_class(corpus.train), by_class(corpus.validation), by_class(corpus.test)] == [train, validation, test]
    assert corpus.vocabulary.published_size == published_size


@pytest.mark.parametrize(("name", "length"), [("sst", 18.70), ("imdb", 179.65), ("20news", 115.6)])
def test_mean_lengths_are_the_reproduced_ones(name, length):
    corpus = corpus_of(name, "jw-paper")
    lengths, digits = corpus.train.lengths, 2
    if name == "20news":  # whose validation texts are a tenth of the published training texts
        lengths, digits = np.concatenate([corpus.train.lengths, corpus.validation.lengths]), 1
    assert round(lengths.mean(), digits) == length


@pytest.mark.parametrize("name", ["imdb", "20news"])
def test_no_test_text_chooses_the_best_epoch(name):
    module = {"imdb": ImdbDataModule, "20news": NewsgroupsDataModule}[name](protocol="jw-paper")
    corpus = module.corpus
    assert not {*corpus.validation.ids} & {*corpus.test.ids}


def test_plain_keeps_the_splits_as_distributed():
    sst, imdb = corpus_of("sst", "plain"), corpus_of("imdb", "plain")
    assert [by_class(sst.train), by_class(sst.validation), by_class(sst.test)] == [[3310, 3610], [428, 444], [912, 909]]
    assert [by_class(imdb.train), by_class(imdb.validation), by_class(imdb.test)] == [[11250] * 2, [1250] * 2, [12500] * 2]
    newsgroups = corpus_of("20news", "plain")
    posts = newsgroup_posts().where(newsgroup_posts().lengths > 0)
    assert len(newsgroups.train) + len(newsgroups.validation) == (posts.ids < 11314).sum()
    assert sorted(newsgroups.test.ids) == sorted(posts.ids[posts.ids >= 11314])


def test_conll2000_is_8042_894_2012_sentences_of_23_tags_parted_by_a_stated_seed():
    corpus = corpus_of("conll2000", "plain")
    assert [len(corpus.train), len(corpus.validation), len(corpus.test)] == [8042, 894, 2012]
    assert sorted([*corpus.train.ids, *corpus.validation.ids]) == list(range(8936))
    used = {split: {corpus.label_names[tag] for tag in getattr(corpus, split).flat("tags").to_pylist()} for split in SPLITS}
    assert len(corpus.label_names) == len(used["train"] | used["validation"] | used["test"]) == 23
    assert used["test"] - used["train"] - used["validation"] == {"I-LST"}
    assert (used["train"] | used["validation"]) - used["test"] == {"B-UCP", "I-UCP", "I-INTJ", "I-PRT"}
    assert corpus.train.lengths.sum() + corpus.validation.lengths.sum() == 211727
    assert corpus.test.lengths.sum() == 47377
    other = Conll2000DataModule(split_seed=1).corpus
    assert set(other.validation.ids) != set(corpus.validation.ids)


def test_imdb_before_filtering_has_the_words_and_lengths_of_keras_index():
    train = imdb_reviews("train")
    words = pa.compute.unique(train.flat("tokens"))
    assert len(words) == 88584
    assert round(train.lengths.mean(), 2) == 237.71
    known = imdb_recipe.tokens_among(words, ImdbDataModule().tables()["test"]["text"].combine_chunks())
    assert round(pa.compute.mean(pa.compute.list_value_length(known)).as_py(), 2) == 229.80
    assert by_class(imdb_recipe._short(train)) == [10864, 10652]


def test_imdb_of_15_april_2019_has_14355_words():
    short = imdb_recipe._short(imdb_reviews("train"))
    assert ImdbDataModule().fit_vocabulary(short.table["tokens"], 10).published_size == 14355


def test_imdb_draws_4363_test_reviews_before_the_length_filter():
    module = ImdbDataModule()
    words = pa.compute.unique(imdb_reviews("train").flat("tokens"))
    test = module.tokenised(module.tables()["test"], partial(imdb_recipe.tokens_among, words))
    drawn, _ = split_at_random(np.arange(len(imdb_recipe._short(test))), 0.8, imdb_recipe.JW_SEED)
    assert len(drawn) == 4363


def test_20news_has_1993_posts_60_of_them_empty_parted_1594_to_399():
    posts = newsgroup_posts()
    assert (len(posts), (posts.lengths == 0).sum()) == (1993, 60)
    assert [len(part) for part in newsgroups_recipe._fifth_apart(posts)] == [1594, 399]


def test_20news_of_15_april_2019_has_7701_words():
    train, _ = newsgroups_recipe._fifth_apart(newsgroup_posts().where(newsgroup_posts().lengths > 0))
    assert NewsgroupsDataModule().fit_vocabulary(train.table["tokens"], 2).published_size == 7701


def test_ids_join_a_text_back_to_its_source():
    corpus, table = corpus_of("sst", "jw-current"), SstDataModule().tables()["test"]
    for identity, tokens, label in zip(corpus.test.ids, corpus.test.tokens, corpus.test.labels, strict=True):
        source = table["text"][identity].as_py().replace("-LRB-", "").replace("-RRB-", "").lower()
        assert list(filter(str.isalnum, "".join(tokens))) == list(filter(str.isalnum, source))
        assert label == (table["label"][identity].as_py() > 2)


@pytest.mark.parametrize(("name", "protocol"), [("imdb", "jw-current"), ("20news", "jw-current"), ("conll2000", "plain")])
def test_validation_is_cut_out_of_train(name, protocol):
    corpus = corpus_of(name, protocol)
    assert not set(corpus.train.ids) & set(corpus.validation.ids)


def test_pooled_newsgroups_share_no_post_between_splits():
    corpus = corpus_of("20news", "jw-current")
    assert not set(corpus.test.ids) & {*corpus.train.ids, *corpus.validation.ids}


@pytest.mark.parametrize("name", MODULES)
def test_every_published_count_is_equal_or_explained(name):
    rows = checked(name)
    assert rows
    assert not [row for row in rows if row[-1] == UNEXPLAINED]


def test_check_prints_a_table_of_the_corpora_named(capsys):
    assert main(["sst"]) == 0
    printed = capsys.readouterr().out
    assert "16175" in printed
    assert "imdb" not in printed


@pytest.mark.parametrize("module", [SstDataModule, NewsgroupsDataModule])
def test_sentences_hold_the_tokens_of_the_whole_document(module: type[StoredDataModule]):
    whole, cut = module().corpus, module(sentences=True).corpus
    assert cut.train.tokens == whole.train.tokens
    assert cut.vocabulary.words == whole.vocabulary.words
    lengths = pa.compute.list_flatten(cut.train.table["sentences"]).to_numpy()
    assert lengths.sum() == cut.train.lengths.sum()
    assert lengths.min() > 0


def test_words_are_counted_without_the_two_boundaries_that_papers_count():
    vocabulary = corpus_of("sst", "jw-current").vocabulary
    assert vocabulary.published_size == len(vocabulary.words) + len(SPECIALS) + BOUNDARIES
