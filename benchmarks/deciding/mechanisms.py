"""Mechanisms that decide texts of random words by a rule in code, and explanations that are right or wrong by this rule.

A text has 24 to 36 words, unless others are asked for. Fillers follow Zipf's law and have a small fixed effect each. An
explanation is right in a text if its first words decide it: a set of words of the rule with which the rule says the same
whatever fillers stand for the rest.

Legend: B texts, T words.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

GOOD, BAD, NOT, LEFT, RIGHT, UP, DOWN = range(1, 8)
CLASSES = 5
"""Of the mechanism with several classes, whose words have the ids from 10."""
EVIDENCE = 20, 40
"""The first ids of 20 words for, and of 20 words against."""
FILLERS, FIRST_FILLER = 200, 100
SHORTEST, LONGEST = 24, 36
SURE = 6.0
"""The logit of a decision."""


@dataclass(frozen=True)
class Case:
    """A mechanism on texts, with explanations."""

    logits: Callable[[Tensor, Tensor], Tensor]
    """Takes tokens and mask, ``(N, T)`` each; returns ``(N, K)``."""
    tokens: Tensor
    mask: Tensor
    needs: Tensor
    """bool ``(B,)``: texts in which words decide; random fillers alone would say otherwise."""
    readings: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """Weights ``(B, T)``, and in which texts they are right, bool ``(B,)``, by name."""


MECHANISMS: dict[str, Callable[["Draw"], Case]] = {}


def mechanism(make: Callable[["Draw"], Case]) -> Callable[["Draw"], Case]:
    """Enter a mechanism under the name of the function that makes it."""
    MECHANISMS[make.__name__] = make
    return make


def is_looked_at(name: str) -> bool:
    """Return whether a mechanism may be looked at while the definition is settled; the others wait until it is frozen."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


class Draw:
    """Random texts of fillers, into which a mechanism writes its words."""

    def __init__(self, seed: int, texts: int = 64, words: tuple[int, int] = (SHORTEST, LONGEST)) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.count = texts
        self.shortest, longest = words
        lengths = torch.randint(self.shortest, longest + 1, (texts,), generator=self.generator)
        lengths[0] = longest
        self.mask = torch.arange(longest) < lengths.unsqueeze(1)
        zipf = 1 / (torch.arange(FILLERS) + 2.0)
        drawn = torch.multinomial(zipf, texts * longest, replacement=True, generator=self.generator).view(texts, longest)
        self.tokens = (FIRST_FILLER + drawn).masked_fill(~self.mask, 0)

    def coin(self, chance: float = 0.5) -> Tensor:
        """Return a random truth value for each text, bool ``(B,)``."""
        return torch.rand(self.count, generator=self.generator) < chance

    def number(self, low: int, high: int) -> Tensor:
        """Return a random whole number from low to high for each text."""
        return torch.randint(low, high + 1, (self.count,), generator=self.generator)

    def places(self, count: int, gap: int = 3) -> Tensor:
        """Return places in order, at least ``gap`` apart, int64 ``(B, count)``."""
        slots = self.shortest // gap
        slot = torch.rand(self.count, slots, generator=self.generator).argsort(dim=1)[:, :count].sort(dim=1).values
        return slot * gap + 1

    def write(self, places: Tensor, words: Tensor | int) -> Tensor:
        """Write words at places, and return where they stand, bool ``(B, T)``."""
        words = torch.as_tensor(words).expand(places.shape)
        self.tokens = self.tokens.scatter(1, places, words)
        return torch.zeros_like(self.mask).scatter(1, places, True)

    def on(self, chosen: Tensor, share: float = 0.9) -> Tensor:
        """Return weights with this share spread evenly over chosen words, and the rest over the others, ``(B, T)``."""
        others = torch.rand(self.mask.shape, generator=self.generator) * (self.mask & ~chosen)
        evenly = chosen * (1 + 0.02 * torch.rand(self.mask.shape, generator=self.generator))
        parts = [each / each.sum(dim=1, keepdim=True).clamp(min=1e-9) for each in (evenly, others)]
        return share * parts[0] + (1 - share) * parts[1]

    def one_other(self, chosen: Tensor) -> Tensor:
        """Return where one random word stands that is not chosen, bool ``(B, T)``."""
        chance = torch.rand(self.mask.shape, generator=self.generator).masked_fill(~self.mask | chosen, -1)
        return torch.zeros_like(chosen).scatter(1, chance.argmax(dim=1, keepdim=True), True)

    def first_then(self, first: Tensor, chosen: Tensor) -> Tensor:
        """Return weights that are largest on ``first``, then on chosen words, ``(B, T)``."""
        weights = self.on(chosen, 0.9) * 0.3
        return torch.where(first, 0.7, weights)


def noise(tokens: Tensor, size: float = 0.05) -> Tensor:
    """Return the small fixed effects of the fillers of each text, ``(N,)``."""
    hashed = torch.sin(tokens.double() * 12.9898) * 43758.5453
    return ((hashed - hashed.floor() - 0.5) * 2 * size * (tokens >= FIRST_FILLER)).sum(dim=1)


def two(margin: Tensor) -> Tensor:
    """Return the logits of two classes, ``(N, 2)``, from the margin of the second."""
    return torch.stack([torch.zeros_like(margin), margin], dim=1)


def count_of(tokens: Tensor, word: int) -> Tensor:
    """Return how often a word occurs in each text, ``(N,)``."""
    return (tokens == word).sum(dim=1).double()


def everywhere(draw: Draw, right: bool) -> Tensor:
    """Return the same truth value for every text."""
    return torch.full((draw.count,), right)


def usual(draw: Draw, chosen: Tensor, needs: Tensor | None = None) -> dict[str, tuple[Tensor, Tensor]]:
    """Return an explanation on all chosen words, on one other word, and on another word first, with their truth."""
    other = draw.one_other(chosen)
    yes, no = everywhere(draw, True), everywhere(draw, False)
    return {
        "all": (draw.on(chosen), yes),
        "decoy": (draw.on(other), no),
        "another first": (draw.first_then(other, chosen), no),
    }


@mechanism
def token(draw: Draw) -> Case:
    """One word decides."""
    chosen = draw.write(draw.places(1), torch.where(draw.coin(), GOOD, BAD).unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (count_of(tokens, GOOD) - count_of(tokens, BAD)) + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


@mechanism
def redundant(draw: Draw) -> Case:
    """Four words say the same, and each decides alone."""
    places = draw.places(4)
    chosen = draw.write(places, torch.where(draw.coin(), GOOD, BAD).unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (count_of(tokens, GOOD) - count_of(tokens, BAD)).clamp(-1, 1) + noise(tokens))

    one = torch.zeros_like(chosen).scatter(1, places[:, 2:3], True)
    readings = usual(draw, chosen) | {"one of them": (draw.on(one), everywhere(draw, True))}
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def additive(draw: Draw) -> Case:
    """Four to seven words say the same, and their effects add up."""
    most, fewer = draw.places(7), draw.number(4, 7)
    shown = torch.arange(7) < fewer.unsqueeze(1)
    words = torch.where(draw.coin(), GOOD, BAD).unsqueeze(1).expand(-1, 7)
    chosen = draw.write(most, torch.where(shown, words, draw.tokens.gather(1, most)))
    chosen &= (draw.tokens == GOOD) | (draw.tokens == BAD)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(2.5 * (count_of(tokens, GOOD) - count_of(tokens, BAD)) + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


@mechanism
def conjunction(draw: Draw) -> Case:
    """Two words decide together; without both the other class is the default."""
    places, both = draw.places(2), draw.coin(0.7)
    first, second = draw.tokens.gather(1, places).unbind(dim=1)
    words = torch.stack([torch.full_like(first, LEFT), torch.where(both, RIGHT, second)], dim=1)
    chosen = draw.write(places, words)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        there = (count_of(tokens, LEFT) > 0) & (count_of(tokens, RIGHT) > 0)
        return two(SURE * (2 * there.double() - 1) + noise(tokens))

    one = torch.zeros_like(chosen).scatter(1, places[:, :1], True)
    readings = usual(draw, chosen) | {"one of them": (draw.on(one), everywhere(draw, False))}
    return Case(logits, draw.tokens, draw.mask, both, readings)


@mechanism
def exclusive(draw: Draw) -> Case:
    """Two words decide by whether they agree; one alone leaves the model undecided."""
    places = draw.places(2)
    words = torch.stack([torch.where(draw.coin(), LEFT, RIGHT), torch.where(draw.coin(), UP, DOWN)], dim=1)
    chosen = draw.write(places, words)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        first, second = (count_of(tokens, a) - count_of(tokens, b) for a, b in ((LEFT, RIGHT), (UP, DOWN)))
        return two(SURE * first * second + noise(tokens))

    one = torch.zeros_like(chosen).scatter(1, places[:, 1:], True)
    readings = usual(draw, chosen) | {"one of them": (draw.on(one), everywhere(draw, False))}
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def three_of_five(draw: Draw) -> Case:
    """At least three of one word decide; fewer leave the default class."""
    places, shown = draw.places(5), draw.number(0, 5)
    there = torch.arange(5) < shown.unsqueeze(1)
    chosen = draw.write(places, torch.where(there, GOOD, draw.tokens.gather(1, places))) & (draw.tokens == GOOD)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (2 * (count_of(tokens, GOOD) >= 3).double() - 1) + noise(tokens))

    one = chosen & (chosen.cumsum(dim=1) == 1)
    readings = usual(draw, chosen) | {"one of them": (draw.on(one, 0.9) * one, everywhere(draw, False))}
    return Case(logits, draw.tokens, draw.mask, shown >= 3, readings)


@mechanism
def majority(draw: Draw) -> Case:
    """Three words vote, and one of them is outvoted; two that agree decide."""
    places = draw.places(3)
    for_it = torch.where(draw.coin(), GOOD, BAD).unsqueeze(1)
    words = for_it.repeat(1, 3)
    words[:, 1:2] = GOOD + BAD - for_it
    draw.write(places, words)
    outvoted = torch.zeros_like(draw.mask).scatter(1, places[:, 1:2], True)
    chosen = torch.zeros_like(draw.mask).scatter(1, places[:, ::2], True)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (count_of(tokens, GOOD) - count_of(tokens, BAD)).clamp(-1, 1) + noise(tokens))

    readings = {
        "all": (draw.on(chosen), everywhere(draw, True)),
        "outvoted": (draw.on(outvoted), everywhere(draw, False)),
        "outvoted first": (draw.first_then(outvoted, chosen), everywhere(draw, False)),
        "decoy": (draw.on(draw.one_other(chosen | outvoted)), everywhere(draw, False)),
    }
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def negated(draw: Draw) -> Case:
    """ "Not" just before the word turns it around; elsewhere it does nothing."""
    places, turned = draw.places(3), draw.coin()
    words = torch.where(draw.coin(), GOOD, BAD)
    word = draw.write(places[:, 1:2], words.unsqueeze(1))
    before = places[:, 1:2] - 1
    draw.write(before, torch.where(turned.unsqueeze(1), torch.tensor(NOT), draw.tokens.gather(1, before)))
    draw.write(places[:, 2:], NOT)  # too far away
    chosen = word | torch.zeros_like(word).scatter(1, before, turned.unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        signs = (tokens == GOOD).double() - (tokens == BAD).double()
        after_not = torch.nn.functional.pad(tokens[:, :-1] == NOT, (1, 0)).double()
        return two(SURE * (signs * (1 - 2 * after_not)).sum(dim=1) + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen | (draw.tokens == NOT)) | {
        "all": (draw.on(chosen), everywhere(draw, True)),
        "word alone": (draw.on(word, 1.0), ~turned),
    })  # fmt: skip


@mechanism
def order(draw: Draw) -> Case:
    """Two words are in every text; the one that comes first decides."""
    chosen = draw.write(
        draw.places(2), torch.where(draw.coin().unsqueeze(1), torch.tensor([LEFT, RIGHT]), torch.tensor([RIGHT, LEFT]))
    )

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        there = torch.stack([tokens == LEFT, tokens == RIGHT])
        first = there.int().argmax(dim=-1)
        both = there.any(dim=-1).all(dim=0)
        return two(SURE * torch.where(both, (first[1] - first[0]).sign(), 0).double() + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


@mechanism
def first_wins(draw: Draw) -> Case:
    """Of two words with a sign, the earlier decides."""
    places, word = draw.places(2), torch.where(draw.coin(), GOOD, BAD)
    draw.write(places, torch.stack([word, GOOD + BAD - word], dim=1))
    first, later = (torch.zeros_like(draw.mask).scatter(1, places[:, [at]], True) for at in (0, 1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        signed = (tokens == GOOD) | (tokens == BAD)
        one = tokens.gather(1, signed.int().argmax(dim=1, keepdim=True)).squeeze(1)
        return two(SURE * ((one == GOOD).double() - (one == BAD).double()) + noise(tokens))

    readings = {
        "all": (draw.on(first), everywhere(draw, True)),
        "later first": (draw.first_then(later, first), everywhere(draw, False)),
        "decoy": (draw.on(draw.one_other(first | later)), everywhere(draw, False)),
    }
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def against_first(draw: Draw) -> Case:
    """A strong word decides; a weak one speaks against it."""
    places, up = draw.places(2), draw.coin()
    draw.write(places, torch.stack([torch.where(up, UP, DOWN), torch.where(up, RIGHT, LEFT)], dim=1))
    strong, weak = (torch.zeros_like(draw.mask).scatter(1, places[:, [at]], True) for at in (0, 1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        strongly, weakly = (count_of(tokens, a) - count_of(tokens, b) for a, b in ((UP, DOWN), (LEFT, RIGHT)))
        return two(5 * strongly + 2 * weakly + noise(tokens))

    readings = {
        "all": (draw.on(strong), everywhere(draw, True)),
        "against first": (draw.first_then(weak, strong), everywhere(draw, False)),
        "against": (draw.on(weak), everywhere(draw, False)),
        "against second": (draw.first_then(strong, weak), everywhere(draw, True)),
    }
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def default_class(draw: Draw) -> Case:
    """A word decides for one class; the other class needs no word."""
    there = draw.coin(0.6)
    places = draw.places(1)
    chosen = draw.write(places, torch.where(there.unsqueeze(1), torch.tensor(GOOD), draw.tokens.gather(1, places)))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (2 * (count_of(tokens, GOOD) > 0).double() - 1) + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, there, usual(draw, chosen))


@mechanism
def several_classes(draw: Draw) -> Case:
    """One word decides between five classes."""
    chosen = draw.write(draw.places(1), (10 + draw.number(0, CLASSES - 1)).unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        counts = torch.stack([count_of(tokens, 10 + place) for place in range(CLASSES)], dim=1)
        return SURE * counts + noise(tokens).unsqueeze(1) * torch.linspace(-1, 1, CLASSES)

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


@mechanism
def unsure(draw: Draw) -> Case:
    """One word decides, and the model is never surer than 65 %."""
    chosen = draw.write(draw.places(1), torch.where(draw.coin(), GOOD, BAD).unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(0.6 * (count_of(tokens, GOOD) - count_of(tokens, BAD)) + noise(tokens, 0.01))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


def _dense(draw: Draw, share: float) -> Case:
    label = draw.coin()
    evidence = (torch.rand(draw.mask.shape, generator=draw.generator) < share) & draw.mask
    own = torch.rand(draw.mask.shape, generator=draw.generator) < 0.8
    sign = torch.where(own, label.unsqueeze(1), ~label.unsqueeze(1))
    kind = torch.randint(0, 20, draw.mask.shape, generator=draw.generator)
    draw.tokens = torch.where(evidence, torch.where(sign, EVIDENCE[0], EVIDENCE[1]) + kind, draw.tokens)

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        for_it, against = (((tokens >= first) & (tokens < first + 20)).sum(dim=1).double() for first in EVIDENCE)
        return two(1.5 * (for_it - against) + noise(tokens))

    decided = logits(draw.tokens, draw.mask)[:, 1] > 0
    chosen = evidence & (sign == decided.unsqueeze(1))
    readings = {
        "all": (draw.on(chosen), everywhere(draw, True)),
        "fillers": (draw.on(draw.mask & ~evidence), everywhere(draw, False)),
        "against": (draw.on(evidence & ~chosen), everywhere(draw, False)),
    }
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def dense(draw: Draw) -> Case:
    """A fifth of all words are evidence, of 40 kinds, and most of it agrees."""
    return _dense(draw, 0.2)


@mechanism
def very_dense(draw: Draw) -> Case:
    """Two fifths of all words are evidence."""
    return _dense(draw, 0.4)


@mechanism
def place(draw: Draw) -> Case:
    """The word at the fourth place decides, by the parity of its id; elsewhere it does nothing."""
    chosen = torch.zeros_like(draw.mask)
    chosen[:, 3] = True

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (1 - 2.0 * (tokens[:, 3] % 2)).double() + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))


@mechanism
def length(draw: Draw) -> Case:
    """The number of words decides, so that no word does."""

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(mask.sum(dim=1).double() - 30 + noise(tokens))

    return Case(
        logits, draw.tokens, draw.mask, everywhere(draw, False), {"evenly": (draw.on(draw.mask), everywhere(draw, False))}
    )


@mechanism
def bigram(draw: Draw) -> Case:
    """Two words decide by their order where they stand side by side; apart they do nothing."""
    places, turned = draw.places(3), draw.coin().unsqueeze(1)
    beside = torch.cat([places[:, :1], places[:, :1] + 1], dim=1)
    chosen = draw.write(beside, torch.where(turned, torch.tensor([RIGHT, LEFT]), torch.tensor([LEFT, RIGHT])))
    apart = draw.write(places[:, 1:], torch.tensor([LEFT, RIGHT]))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        before, after = tokens[:, :-1], tokens[:, 1:]
        one = ((before == LEFT) & (after == RIGHT)).any(dim=1).double()
        other = ((before == RIGHT) & (after == LEFT)).any(dim=1).double()
        return two(SURE * (one - other) + noise(tokens))

    readings = {
        "all": (draw.on(chosen), everywhere(draw, True)),
        "the same words apart": (draw.on(apart), everywhere(draw, False)),
        "decoy": (draw.on(draw.one_other(chosen | apart)), everywhere(draw, False)),
    }
    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), readings)


@mechanism
def frequent(draw: Draw) -> Case:
    """The deciding words are the most frequent of the corpus: eight in each text, all of one sign."""
    chosen = draw.write(draw.places(8), torch.where(draw.coin(), GOOD, BAD).unsqueeze(1))

    def logits(tokens: Tensor, mask: Tensor) -> Tensor:
        return two(SURE * (count_of(tokens, GOOD) - count_of(tokens, BAD)) + noise(tokens))

    return Case(logits, draw.tokens, draw.mask, everywhere(draw, True), usual(draw, chosen))
