"""Which words each recipe knows, on small made-up corpora; scikit-learn's splits and CountVectorizer are the witness.

The real corpora say the same in ``test_counts.py``, for those who have them.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.utils import shuffle

from attest.datamodules import (
    AgNewsDataModule,
    Conll2000DataModule,
    ImdbDataModule,
    NewsgroupsDataModule,
    PlantedDataModule,
    SstDataModule,
)
from attest.datamodules.newsgroups import SPORTS

POOL = [f"zz{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
"""Words that tokenisers leave alone, from those of many texts to those of nearly none."""
LADDER = [f"xx{first}{second}" for first in "abcde" for second in "abcdefgh"]


def made_up(count: int, own: str, seed: int) -> list[str]:
    """Texts of 8 to 40 words of the pool, each with a word that is found in no other split and one that is found once.

    Those of the ladder occur in 1, 2, 3, … texts, so that a limit off by one lets in another word or leaves one out.
    """
    generator = np.random.default_rng(seed)
    chances = np.linspace(0.01, 0.6, len(POOL))
    drawn = generator.random((count, len(POOL))) < chances
    words = [[*np.array(POOL)[row], *LADDER[place:]] for place, row in enumerate(drawn)]
    letters = [chr(97 + place // 26) + chr(97 + place % 26) for place in range(count)]
    return [" ".join([*each, own, f"{own}{letter}"]) for each, letter in zip(words, letters, strict=True)]


def words_of(texts: Sequence[str], min_df: int) -> list[str]:
    return sorted(CountVectorizer(analyzer=lambda text: text.split() or [""], min_df=min_df).fit(texts).vocabulary_)


def drawn(texts: Sequence[str], share: float, seed: int, labels: Sequence[int] | None = None) -> list[str]:
    """The first part of scikit-learn's split."""
    rows, _ = train_test_split(np.arange(len(texts)), test_size=share, random_state=seed, stratify=labels)
    return [texts[row] for row in rows]


def table(texts: Sequence[str], **columns: Sequence) -> pa.Table:
    return pa.table({"text": pa.array(texts, pa.string()), **columns})


@pytest.mark.parametrize(("protocol", "known"), [("plain", 1), ("jw-current", 1), ("jw-paper", 3)])
def test_sst_knows_the_words_of_train_or_of_all_splits_before_filtering(protocol, known):
    texts = [[*made_up(9, split, seed), f"short{split}"] for seed, split in enumerate(("train", "validation", "test"))]
    neutral = "only neutral sentences say this and that"
    tables = {
        split: table([*rows, neutral], label=[0, 4, 1, 3, 4, 0, 1, 3, 4, 0, 2])
        for split, rows in zip(("train", "validation", "test"), texts, strict=True)
    }
    corpus = SstDataModule(protocol=protocol).prepare(tables)
    assert list(corpus.vocabulary.words) == words_of([text for split in texts[:known] for text in split], 1)
    assert any("shorttrain" in tokens for tokens in corpus.train.tokens) == (protocol == "plain")


REVIEWS, OTHER_REVIEWS = made_up(150, "train", 3), made_up(100, "test", 4)
LONG = " ".join(["long", *POOL, *POOL[-1:] * 400])


@pytest.mark.parametrize("protocol", ["plain", "jw-current", "jw-paper"])
def test_imdb_knows_the_words_of_enough_reviews_of_what_it_trains_on(protocol):
    reviews, labels = [*REVIEWS, *[LONG] * 12], [row % 2 for row in range(162)]
    test_labels = [row % 3 % 2 for row in range(100)]
    tables = {"train": table(reviews, label=labels), "test": table(OTHER_REVIEWS, label=test_labels)}
    found = ImdbDataModule(protocol=protocol).prepare(tables).vocabulary.words
    short = [
        review for label in (1, 0) for review, its in zip(reviews, labels, strict=True) if its == label and review != LONG
    ]
    known = {word for review in reviews for word in review.split()}
    other = [" ".join(word for word in review.split() if word in known) for review in OTHER_REVIEWS]
    expected = {
        "plain": lambda: words_of(drawn(reviews, 0.1, 0, labels), 10),
        "jw-current": lambda: words_of(drawn(short, 0.2, 1378), 10),
        "jw-paper": lambda: words_of([*short, *other], 20),
    }
    assert list(found) == expected[protocol]()
    assert 0 < len(found) < len(known)


@pytest.mark.parametrize("protocol", ["plain", "jw-current", "jw-paper"])
def test_20news_knows_the_words_of_two_posts_of_train_or_of_all(protocol):
    """Posts of two groups among those of a third; some are empty once header and signature are gone."""
    rare = [f"{text} pair{chr(97 + row // 2)}" for row, text in enumerate(made_up(40, "train", 5))]
    posts = [*rare, *[""] * 4, *made_up(20, "test", 6)]
    group_of = [[*SPORTS, "sci.space"][row % 3] for row in range(len(posts))]
    raw = [f"From: someone\n\n{post}" for post in posts]
    parts = {"train": slice(None, 44), "test": slice(44, None)}
    tables = {split: table(raw[part], label_text=group_of[part]) for split, part in parts.items()}
    found = NewsgroupsDataModule(protocol=protocol).prepare(tables).vocabulary.words
    assert list(found) == newsgroup_words(posts, group_of, 44, protocol)
    assert ("" in found) == (protocol == "jw-paper")


def newsgroup_words(posts: Sequence[str], group_of: Sequence[str], train: int, protocol: str) -> list[str]:
    rows, other = np.arange(train), np.arange(train, len(posts))
    order = shuffle(np.concatenate([shuffle(rows, random_state=0), shuffle(other, random_state=0)]), random_state=42)
    sports = [row for row in (rows if protocol == "plain" else order) if group_of[row] in SPORTS]
    if protocol == "jw-paper":
        return words_of([posts[row] for row in sports], 2)
    chosen = [row for row in sports if posts[row]]
    for share, seed in [(0.1, 0)] if protocol == "plain" else [(0.2, 13478)] * 2:
        chosen = drawn(chosen, share, seed, [SPORTS.index(group_of[row]) for row in chosen])
    return words_of([posts[row] for row in chosen], 2)


@pytest.mark.parametrize("protocol", ["jw-paper", "plain"])
def test_agnews_knows_the_words_of_five_texts_of_train_with_its_validation_or_without(protocol):
    texts, labels = made_up(120, "train", 8), [1 + row % 4 for row in range(120)]
    columns = {"label": labels, "title": [""] * 120}
    tables = {
        "train": pa.table(columns | {"description": texts}),
        "test": pa.table(columns | {"description": made_up(120, "test", 9)}),
    }
    chosen = [row for row in range(120) if labels[row] in (1, 3)]
    known = [texts[row] for row in chosen]
    if protocol == "plain":
        known = drawn(known, 0.1, 0, [labels[row] for row in chosen])
    assert list(AgNewsDataModule(protocol=protocol).prepare(tables).vocabulary.words) == words_of(known, 5)


def test_conll2000_knows_the_words_it_trains_on_alone():
    sentences = {split: [text.split() for text in made_up(30, split, 7)] for split in ("train", "test")}
    tables = {
        split: pa.table({"tokens": rows, "chunk_tags": [["O"] * len(row) for row in rows]})
        for split, rows in sentences.items()
    }
    corpus = Conll2000DataModule().prepare(tables)
    assert list(corpus.vocabulary.words) == words_of([" ".join(tokens) for tokens in corpus.train.tokens], 1)
    assert len(corpus.train) == 27


def test_planted_texts_are_known_by_the_words_of_train_alone():
    corpus = PlantedDataModule(rule="token", train_texts=4, validation_texts=50, test_texts=50).corpus
    assert list(corpus.vocabulary.words) == words_of([" ".join(tokens) for tokens in corpus.train.tokens], 1)
    assert {word for tokens in corpus.test.tokens for word in tokens} > {*corpus.vocabulary.words}
