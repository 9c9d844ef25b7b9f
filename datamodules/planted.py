"""The planted corpus: reviews that a small grammar generates, with labels that known tokens decide.

Any explanation can be compared with the tokens that decide (experiment E15). Nothing is downloaded or stored.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any, Literal

from attest.datamodules.base import TextDataModule
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.tokenisers import sentence_lengths

Rule = Literal["token", "negation", "order"]
Clause = list[tuple[str, bool]]
"""A part of a generated text: its words in order, each with True if the word decides the label."""

PRAISE = ("wonderful", "superb", "delightful", "brilliant", "moving", "charming", "graceful", "witty")
BLAME = ("dreadful", "awful", "tedious", "clumsy", "shallow", "lifeless", "grating", "dull")
NEUTRAL = ("long", "short", "recent", "foreign", "quiet", "loud", "dark", "familiar", "colourful", "modern")
PARTS = (
    "plot",
    "cast",
    "score",
    "dialogue",
    "camera",
    "pacing",
    "ending",
    "opening",
    "script",
    "editing",
    "lighting",
    "sound",
)
PEOPLE = ("the director", "my sister", "a critic", "our neighbour", "the audience", "an old friend", "the author", "somebody")
VERBS = ("mentioned", "followed", "noticed", "described", "remembered", "watched", "discussed", "recorded", "compared")
TIMES = ("yesterday", "last week", "in the evening", "on the train", "after dinner", "at home", "twice", "again")
LENGTHS = (8, 60)


class PlantedDataModule(TextDataModule):
    """A generated corpus of short reviews in two classes; the tokens that decide each label are known.

    Rules:   ``token``     one opinion word decides.
             ``negation``  one opinion word decides; "not" right before it reverses the label. At random, "not" also stands
                           before a neutral word, so neither single words nor the rest of the text reveal the label.
             ``order``     there is one word of praise and one of blame; the later one decides. Single words reveal nothing.
    Batch:   as in ``TextDataModule``; ``rationale`` is True at the opinion, its negation, or both ordered words.
    Splits:  generated from the seed; no text occurs twice.

    Args:
        rule: the rule by which tokens decide the label.
        train_texts, validation_texts, test_texts: number of texts in each split.
        corpus_seed: seed of the texts; None to use ``seed`` for the texts, too.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True

    def __init__(
        self,
        rule: Rule = "negation",
        train_texts: int = 3000,
        validation_texts: int = 500,
        test_texts: int = 1000,
        corpus_seed: int | None = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.rule = rule
        self.corpus_seed = corpus_seed
        self.sizes = {"train": train_texts, "validation": validation_texts, "test": test_texts}

    def read(self) -> Corpus:
        texts = planted_texts(self.rule, self.seed if self.corpus_seed is None else self.corpus_seed)
        splits = {split: documents([next(texts) for _ in range(size)]) for split, size in self.sizes.items()}
        vocabulary = self.fit_vocabulary(splits["train"].table["tokens"])
        return Corpus(**splits, vocabulary=vocabulary, label_names=("blame", "praise"))


def planted_texts(rule: Rule, seed: int, lengths: tuple[int, int] = LENGTHS) -> Iterator[tuple[Clause, int]]:
    """Yield an endless stream of different texts whose labels alternate; equal seeds give equal streams.

    Args:
        lengths: the smallest and the largest number of words, which the clauses of the rule may exceed.
    """
    draw = random.Random(f"planted {rule} {seed}")
    seen: set[tuple[str, ...]] = set()
    while True:
        label = len(seen) % 2
        text = _text(draw, RULES[rule](draw, label), lengths)
        words = tuple(word for word, _ in text)
        if words not in seen:
            seen.add(words)
            yield text, label


def _text(draw: random.Random, deciding: list[Clause], lengths: tuple[int, int]) -> Clause:
    shortest, longest = lengths
    target = draw.randint(shortest, longest)
    fillers: list[Clause] = []
    length = sum(map(len, deciding))
    while True:
        if draw.random() < 0.2:
            filler = _plain(f"{draw.choice(PEOPLE)} {draw.choice(('agreed', 'left', 'smiled'))} .")
        else:
            filler = _plain(f"{draw.choice(PEOPLE)} {draw.choice(VERBS)} the {draw.choice(PARTS)} {draw.choice(TIMES)} .")
        if length >= shortest and length + len(filler) > target:
            break
        fillers.append(filler)
        length += len(filler)
    places = sorted(draw.sample(range(len(fillers) + len(deciding)), len(deciding)))
    for place, clause in zip(places, deciding, strict=True):
        fillers.insert(place, clause)
    return [word for clause in fillers for word in clause]


def _plain(text: str) -> Clause:
    return [(word, False) for word in text.split()]


def _verdict(draw: random.Random, *words: tuple[str, bool]) -> Clause:
    return [*_plain(f"the {draw.choice(PARTS)} is"), *words, (".", False)]


def _token(draw: random.Random, label: int) -> list[Clause]:
    return [_verdict(draw, (draw.choice(PRAISE if label else BLAME), True))]


def _negation(draw: random.Random, label: int) -> list[Clause]:
    negated = draw.random() < 0.5
    opinion = (draw.choice(PRAISE if label != negated else BLAME), True)
    neutral = (draw.choice(NEUTRAL), False)
    clauses = [
        _verdict(draw, *([("not", True)] if negated else []), opinion),
        _verdict(draw, *([("not", False)] if draw.random() < 0.5 else []), neutral),
    ]
    draw.shuffle(clauses)
    return clauses


def _order(draw: random.Random, label: int) -> list[Clause]:
    praise, blame = (_verdict(draw, (draw.choice(words), True)) for words in (PRAISE, BLAME))
    return [blame, praise] if label else [praise, blame]


RULES: dict[str, Callable[[random.Random, int], list[Clause]]] = {"token": _token, "negation": _negation, "order": _order}


def documents(texts: list[tuple[Clause, int]]) -> Documents:
    tokens = [[word for word, _ in text] for text, _ in texts]
    return Documents.of(
        ids=range(len(texts)),
        tokens=tokens,
        label=[label for _, label in texts],
        rationale=[[decides for _, decides in text] for text, _ in texts],
        sentences=[list(sentence_lengths(text)) for text in tokens],
    )
