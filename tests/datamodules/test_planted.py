"""The planted corpus: what decides is known, and words alone do not."""

from itertools import pairwise

import pytest
from scipy.stats import binomtest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from attest.datamodules.planted import BLAME, PRAISE, PlantedDataModule


@pytest.fixture(params=["token", "negation", "order"], scope="module")
def data(request):
    return PlantedDataModule(rule=request.param)


def bag_of_words_accuracy(data) -> float:
    vectorizer = CountVectorizer(analyzer=list)
    train, test = data.corpus.train, data.corpus.test
    model = LogisticRegression(max_iter=1000).fit(vectorizer.fit_transform(train.tokens), train.labels)
    return model.score(vectorizer.transform(test.tokens), test.labels)


def test_a_bag_of_words_solves_the_single_token_and_nothing_else(data):
    accuracy = bag_of_words_accuracy(data)
    if data.rule == "token":
        assert accuracy == 1.0
    else:
        assert accuracy < 0.6, "distractors should leave a bag of words near chance"


def decide(rule: str, deciding: list[str]) -> int:
    """The label by the rule's own words, from the tokens under the mask alone."""
    opinions = [word in PRAISE for word in deciding if word in PRAISE + BLAME]
    return int(opinions[-1]) if rule == "order" else int(opinions[0] != ("not" in deciding))


def test_the_masked_tokens_decide_the_label(data):
    for split in (data.corpus.train, data.corpus.validation, data.corpus.test):
        for tokens, label, rationale in zip(split.tokens, split.labels, split.table["rationale"].to_pylist(), strict=True):
            assert decide(data.rule, [word for word, bit in zip(tokens, rationale, strict=True) if bit]) == label


@pytest.mark.parametrize("opinions", [PRAISE, BLAME])
def test_nothing_but_the_masked_tokens_tells_whether_the_opinion_is_negated(opinions):
    """Not even to one who knows the opinion: words and pairs of words outside the mask leave a classifier at chance."""
    corpus = PlantedDataModule(rule="negation").corpus
    bags, labels = {}, {}
    for split in ("train", "test"):
        documents = getattr(corpus, split)
        texts = zip(documents.tokens, documents.table["rationale"].to_pylist(), documents.labels, strict=True)
        chosen = [(tokens, bits, label) for tokens, bits, label in texts if set(tokens) & set(opinions)]
        bags[split] = [[word for word, bit in zip(tokens, bits, strict=True) if not bit] for tokens, bits, _ in chosen]
        labels[split] = [label for _, _, label in chosen]
    vectorizer = CountVectorizer(analyzer=lambda words: [*words, *map(" ".join, pairwise(words))], min_df=5)
    model = LogisticRegression(C=0.1, max_iter=1000).fit(vectorizer.fit_transform(bags["train"]), labels["train"])
    right = round(model.score(vectorizer.transform(bags["test"]), labels["test"]) * len(labels["test"]))
    assert binomtest(right, len(labels["test"])).pvalue > 1e-3


def test_sizes_lengths_balance_and_no_text_twice(data):
    splits = (data.corpus.train, data.corpus.validation, data.corpus.test)
    assert [len(split) for split in splits] == [3000, 500, 1000]
    lengths = [len(tokens) for split in splits for tokens in split.tokens]
    assert min(lengths) in range(8, 12)
    assert max(lengths) == 60
    assert all(abs(sum(split.labels) - len(split) / 2) <= 1 for split in splits)
    texts = [tuple(tokens) for split in splits for tokens in split.tokens]
    assert len(set(texts)) == len(texts)


def test_equal_seeds_give_equal_corpora_and_others_do_not():
    again, other = (PlantedDataModule(rule="order", corpus_seed=seed) for seed in (0, 1))
    reference = PlantedDataModule(rule="order", corpus_seed=0)
    assert again.corpus.train.tokens == reference.corpus.train.tokens
    assert other.corpus.train.tokens != reference.corpus.train.tokens


def test_the_mask_travels_in_the_batch(data):
    batch = data.test.__getitems__([3, 5])
    for row, index in enumerate((3, 5)):
        expected = data.corpus.test.table["rationale"].to_pylist()[index]
        assert batch["rationale"][row, : len(expected)].tolist() == expected
        assert not batch["rationale"][row, len(expected) :].any()
