"""Neutral words of a corpus: those that move the model least, from which fillings are drawn.

Legend: B texts, T tokens, W words of the longest text, P neutral tokens.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.experiments.deciding.filling import Game, Texts, alone
from attest.experiments.deciding.search import is_long

ROUGH = 2
"""Fillings from all words, which tell words that move the model from words that do not."""
FEW_WORDS = 16
"""The words of a long text whose single effects are measured."""
SHARE = 0.25
"""The share of all tokens that count as neutral."""
LEAST_WAY = 0.1
"""A text needs words if the model goes at least this far from no words to all words, as a share of its own range."""


class Neutral(NamedTuple):
    """What is known of a model on a corpus before its texts are asked."""

    pool: Tensor
    """int64 ``(P,)``, neutral tokens, as often as they occur."""
    least_way: float
    """The smallest way from no words to all words of a text that needs words."""


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
    The quarter of all tokens that move it least is the pool; of long texts a few random words are measured.

    Args:
        texts: a sample of the corpus.
        probabilities: ``(B, K)`` of these texts, or numbers ``(B, 1)``, which tell the range of the model.
    Returns:
        The neutral words, and the single effects that told them, ``(B, W)`` each, which rank the words for the search; NaN
        for words of long texts that were not measured.
    """
    replaced = texts.words >= 0
    falls, rises = single_effects(Game(texts, texts.tokens[replaced], seed), ROUGH)
    of_tokens = torch.maximum(falls.abs(), rises.abs()).gather(1, texts.words.clamp(min=0))
    known = replaced & ~of_tokens.isnan()
    every, moved = texts.tokens[known], of_tokens[known]
    kinds, kind = every.unique(return_inverse=True)
    of_kind = moved.new_zeros(len(kinds)).scatter_reduce(0, kind, moved, "mean", include_self=False)
    order = torch.maximum(moved, of_kind[kind]).argsort(stable=True)
    pool = every[order[: max(1, int(SHARE * len(order)))]]
    return Neutral(pool, least_way(probabilities)), falls, rises
