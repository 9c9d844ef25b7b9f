"""Neutral words of a corpus: those that move the model least, from which fillings are drawn.

A filling replaces words of a text by random neutral words. A text *needs words* if the model says something else of it than
of a filling of all its words.

Legend: B texts, T tokens, W words of the longest text, P neutral tokens.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.experiments.deciding.filling import Game, Texts, alone
from attest.experiments.deciding.search import is_long, places_in

ROUGH = 2
"""How often the effect of a single word is measured, each time with other random words in the place of those that are
replaced. Two times give a rough estimate."""
FEW_WORDS = 16
"""The largest number of words, drawn at random, whose single effects are measured in a long text; in a short text all words
are measured."""
SHARE = 0.25
"""The share of all measured tokens, those whose replacement moves the model least, that become the pool of neutral tokens."""
MOST_NEEDLESS, UNDECIDED = 0.5, 1.0
"""Where half of the texts or more are long, neutral words may together favour one of two classes. The first: if at least this
share of all texts then need no words, other neutral words are searched for. The second: these must leave the model undecided,
with absolute mean log-odds below this number. Both were settled on 2026-11-28, on long texts that mechanisms in code decide,
and on a network that reads film reviews."""
LEAST_WAY = 0.1
"""A text *needs words* if the model's output changes enough from neutral words alone to the whole text: by at least this share
of the range between the 5 % and the 95 % quantile of its outputs over the texts. In other texts no words decide, so they do
not count for the verdict."""

SINK, FEWEST_TEXTS = 0.5, 10
"""A token that hardly moves the model is a *sink* if the explanation ranks it first in at least this share of the texts. The
second number is the smallest number of texts in which a sink is searched for."""

WITHOUT_SINK = "without_sink"
"""The suffix of the columns about the explanation without its sink: a token that hardly moves the model, but that the
explanation ranks first in many texts, gets the weight 0."""


class Neutral(NamedTuple):
    """What is known of a model and a corpus before single texts are measured: first of all its neutral words."""

    pool: Tensor
    """int64 ``(P,)``: the ids of the neutral tokens, which hardly move the model; an id that occurs several times is listed
    several times. Random replacements of words are drawn from this list."""
    least_way: float
    """A text needs words (it has words that decide) if the model's output changes by at least this much from neutral words
    alone to the whole text."""
    firsts: Tensor | None = None
    """int64 ``(B,)``: for each text, the id of the token that the explanation ranks first, which may turn out to be a sink (a
    token that is often first and hardly moves the model); -1 if this token moves the model. None if this was not computed."""

    def plain(self) -> dict[str, Any]:
        """Return the values as JSON holds them."""
        firsts = {} if self.firsts is None else {"firsts": self.firsts.tolist()}
        return {"pool": self.pool.tolist(), "least_way": self.least_way} | firsts

    @classmethod
    def of_plain(cls, kept: Mapping[str, Any]) -> "Neutral":
        """Return what ``plain`` has told; older files have no ``firsts``."""
        firsts = torch.tensor(kept["firsts"]) if "firsts" in kept else None
        return cls(torch.tensor(kept["pool"]), kept["least_way"], firsts)


def measured(game: Game) -> Tensor:
    """Return the words whose single effects are measured, bool ``(B, W)``: all of a short text, a random few of a long one."""
    there = game.texts.there
    places = torch.arange(there.shape[1], device=there.device)
    chance = random_uniforms(stream(game.seed, "words measured"), game.texts.ids[:, None], places)
    few = chance.masked_fill(~there, 2).argsort(dim=1).argsort(dim=1) < FEW_WORDS
    return there & (few | ~is_long(game).unsqueeze(1))


def single_effects(game: Game, fillings: int, needs: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return how far v falls without each single word, and rises by it alone, ``(B, W)`` each.

    Both are differences under the same fillings, whose own noise is larger than what most words do. They are 0 for no word,
    and NaN for words that are not ``measured``, and for all words of texts that are not asked.

    Args:
        needs: bool ``(B,)``, the texts that are asked; None for all.
    """
    there, asked = game.texts.there, measured(game) if needs is None else measured(game) & needs.unsqueeze(1)
    rows, words = asked.nonzero(as_tuple=True)
    one, everyone = alone(words, there.shape[1]), torch.arange(len(there), device=there.device)
    falls, rises = (torch.zeros_like(there, dtype=torch.float64).masked_fill(there & ~asked, torch.nan) for _ in range(2))
    falls[rows, words] = game.texts.whole[rows] - game.value(rows, there[rows] & ~one, fillings)
    rises[rows, words] = game.value(rows, one, fillings) - game.value(everyone, torch.zeros_like(there), fillings)[rows]
    return falls, rises


def least_way(probabilities: Tensor) -> float:
    """Return the smallest way from no words to all words of a text that needs words, given predictions ``(B, K)``."""
    ends = probabilities.double().quantile(torch.tensor([0.05, 0.95], dtype=torch.float64, device=probabilities.device), dim=0)
    return LEAST_WAY * float((ends[1] - ends[0]).max())


def neutral_words(texts: Texts, probabilities: Tensor, seed: int) -> tuple[Neutral, Tensor, Tensor]:
    """Find the words of a corpus that move its model least.

    A token is neutral if its occurrence moves the prediction little, and so do the occurrences of the same token in the mean.
    The quarter of all tokens that move it least is the pool; of long texts a few random words are measured. If at least half
    of all texts are long, and at least half of all texts then need no words, because such words together speak for one of two
    classes, the pool is ``undecided``.

    Args:
        texts: a sample of the corpus.
        probabilities: ``(B, K)`` of these texts, or numbers ``(B, 1)``, which tell the range of the model.
    Returns:
        The neutral words, and the single effects that told them, ``(B, W)`` each, which rank the words for the search; NaN
        for words of long texts that were not measured.
    """
    replaced = texts.words >= 0
    game = Game(texts, texts.tokens[replaced], seed)
    falls, rises = single_effects(game, ROUGH)
    of_tokens = torch.maximum(falls.abs(), rises.abs()).gather(1, texts.words.clamp(min=0))
    known = replaced & ~of_tokens.isnan()
    every, moved = texts.tokens[known], of_tokens[known]
    kinds, kind = every.unique(return_inverse=True)
    of_kind = moved.new_zeros(len(kinds)).scatter_reduce(0, kind, moved, "mean", include_self=False)
    order = torch.maximum(moved, of_kind[kind]).argsort(stable=True)
    size = max(1, int(SHARE * len(order)))
    neutral = Neutral(every[order[:size]], least_way(probabilities))
    if (
        probabilities.shape[1] == 2
        and is_long(game).double().mean() >= 0.5
        and _needless(texts, neutral, seed) >= MOST_NEEDLESS
    ):
        second = probabilities.argmax(dim=1) == 1
        towards = _towards(game, falls, rises, second).gather(1, texts.words.clamp(min=0))[known]
        least = order[: 2 * size]
        by_class = every[least[towards[least].argsort(stable=True)]]
        neutral = neutral._replace(pool=undecided(texts, neutral.pool, by_class, second, seed))
    return neutral, falls, rises


def _needless(texts: Texts, neutral: Neutral, seed: int) -> float:
    """Return the share of texts that need no words."""
    return float((Game(texts, neutral.pool, seed).way < neutral.least_way).double().mean())


def _towards(game: Game, falls: Tensor, rises: Tensor, second: Tensor) -> Tensor:
    """Return how far each single word moves the model towards the second of two classes, ``(B, W)``, in log-odds.

    Args:
        falls, rises: as ``single_effects`` returns them, under the same fillings.
        second: bool ``(B,)``, whether the decision is the second class.
    """
    everyone = torch.arange(len(second), device=second.device)
    nothing = game.value(everyone, torch.zeros_like(game.texts.there), ROUGH).unsqueeze(1)
    whole = game.texts.whole.unsqueeze(1)
    moved = _log_odds(whole) - _log_odds(whole - falls) + _log_odds(nothing + rises) - _log_odds(nothing)
    return torch.where(second.unsqueeze(1), moved, -moved)


def _log_odds(probabilities: Tensor) -> Tensor:
    return probabilities.double().logit(eps=1e-6)


def undecided(texts: Texts, pool: Tensor, least: Tensor, second: Tensor, seed: int) -> Tensor:
    """Return neutral words that leave the model undecided between two classes when they fill long texts, int64 ``(P,)``.

    Words that are neutral one by one can speak together for one class. So a window of as many words is moved over those that
    move the model least, by bisection, to where random texts of such words are nearest to undecided. If no window leaves the
    model undecided, it has a default class, and the pool stays.

    Args:
        pool: int64 ``(P,)``, the words that move the model least.
        least: int64 ``(Q,)``, about twice as many, from those that speak for the first class to those for the second.
        second: bool ``(B,)``, whether the decision of each text is the second class.
    """
    everyone, nothing = torch.arange(len(texts.ids), device=texts.ids.device), torch.zeros_like(texts.there)
    best, leans, low, high = pool, UNDECIDED, 0, len(least) - len(pool)
    while low <= high:
        middle = (low + high) // 2
        window = least[middle : middle + len(pool)]
        said = Game(texts, window, seed).outcomes(everyone, nothing)
        lean = float(_log_odds(torch.where(second.unsqueeze(1), said, 1 - said)).mean())
        if abs(lean) < leans:
            best, leans = window, abs(lean)
        low, high = (low, middle - 1) if lean > 0 else (middle + 1, high)
    return best


def kinds_of_words(texts: Texts) -> Tensor:
    """Return the token that a word consists of, int64 ``(B, W)``; -1 for words of different tokens, and for no word."""
    words, replaced = texts.words.clamp(min=0), texts.words >= 0
    nothing, most = torch.full(texts.there.shape, -1, device=words.device), torch.iinfo(torch.int64).max
    largest = nothing.scatter_reduce(1, words, texts.tokens.masked_fill(~replaced, -1), "amax")
    smallest = torch.full_like(nothing, most).scatter_reduce(1, words, texts.tokens.masked_fill(~replaced, most), "amin")
    return largest.where(largest == smallest, -1)


def first_tokens(game: Game, weights: Tensor, moved: Tensor, least: float) -> Tensor:
    """Return the token of the word that an explanation puts first in each text, int64 ``(B,)``, on the CPU.

    It is -1 where this word consists of different tokens, where the words of this token move the model, and where no word has
    weight or some weights are undefined.

    Args:
        weights: ``(B, W)``; ties go to a random word.
        moved: ``(B, W)``, how far each single word moves the model, NaN where it is not known.
        least: the mean move of the words of a token from which they move the model.
    """
    kinds, there = kinds_of_words(game.texts), game.texts.there
    known = (weights > 0).any(dim=1) & ~(weights.isnan() & there).any(dim=1)
    first = kinds.gather(1, places_in(game, weights).argmin(dim=1, keepdim=True)).squeeze(1).masked_fill(~known, -1)
    for token in first[first >= 0].unique().tolist():
        if moved[kinds == token].nanmean() >= least:
            first[first == token] = -1
    return first.cpu()


def sink_of(pools: Sequence[Neutral]) -> int | None:
    """Return the sink: the token that the explanation puts first in at least half of the texts of all pools; None without one.

    It is a token that hardly moves the model, and one decision is taken from the texts of all pools together, so that every
    text is judged without the same token.
    """
    firsts = [each.firsts for each in pools if each.firsts is not None]
    every = torch.cat(firsts).tolist() if firsts else []
    found = Counter(token for token in every if token >= 0).most_common(1)
    if len(every) < FEWEST_TEXTS or not found or found[0][1] < SINK * len(every):
        return None
    return found[0][0]
