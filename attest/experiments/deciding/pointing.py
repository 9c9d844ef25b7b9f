"""Does an explanation point at the words that decide? Its own first words are asked.

Legend: B texts, W words of the longest text.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.experiments.deciding.filling import DECIDES, Game, alone
from attest.experiments.deciding.search import NONE, eliminated, places_in, shortest_prefix

FACTOR = 3
"""An explanation may need this many times as many words as the smallest set that was found."""
TIE = 1.1
"""Weights that differ by less than this factor count as equal."""
MATTERS = 0.2
"""A word matters if it moves v by this share of the way from no words to all words."""
MOST = 0.75
"""The share of the first words that must matter."""
EXCHANGES = 6
"""The words of the smallest set for which another word is tried as a stand-in."""
WAYS = ("alone", "beside", "without")
"""How a word may move v: put alone into neutral words, put beside the smallest set, taken out of the text."""
PEELS = 4
"""How often what is left of the first words is asked whether it decides by itself."""


class Pointing(NamedTuple):
    """What an explanation's first words are worth, ``(B,)`` and ``(B, W)``."""

    right: Tensor
    """bool ``(B,)``: the first words decide, and most of them matter."""
    first: Tensor
    """bool ``(B, W)``: the shortest prefix that decides, with the words that tie with its last; empty where none decides."""
    matter: Tensor
    """bool ``(B, W)``: the words of ``first`` that are known to matter. Once a text is right, no other words are asked."""


def pointing(game: Game, best: Tensor, weights: Tensor, asked: Tensor) -> Pointing:
    """Ask whether the first words of an explanation decide, and whether each of them matters.

    The first words are the shortest prefix that decides, of at most three times as many words as the smallest set that was
    found, and all words with nearly the weight of its last. A word matters if it is needed in this prefix or in the smallest
    set; if it moves v by a fifth of the way when it is taken out of the text, put alone into neutral words, or put beside the
    smallest set; if it can stand in for a word of the smallest set; or if it is in the smallest set that decides of all first
    words that would not matter otherwise. Three quarters of the first words must matter, one of the very first, and the
    weight on words that speak for the decision must be at least the weight on words that speak against it. A text is asked no
    more once that is sure, even if all words that have not been asked spoke against the decision.

    Args:
        best: bool ``(B, W)``, a small set that decides, as ``deciding_words`` returns it.
        weights: ``(B, W)``, larger for words that the explanation puts first; words without weight are never pointed at.
        asked: bool ``(B,)``, the texts that need words.
    """
    there = game.texts.there
    weights = weights.double().masked_fill(~there, -torch.inf)
    places, fewest = places_in(game, weights), best.sum(dim=1)
    most = torch.minimum(FACTOR * fewest, there.sum(dim=1))
    size = shortest_prefix(game, places, range(1, int(most.max()) + 1), most, asked)
    tied = there & (weights > weights.amax(dim=1, keepdim=True) / TIE)  # with the first
    size = _as_a_block(game, tied, size, asked)
    last = weights.masked_fill(places != size.unsqueeze(1) - 1, -torch.inf).amax(dim=1, keepdim=True)
    found = asked & (size < NONE) & (last.squeeze(1) > 0)
    prefix = there & (places < size.unsqueeze(1)) & found.unsqueeze(1)
    first = (prefix | (there & (weights > last / TIE))) & found.unsqueeze(1)
    going = found.clone()  # texts whose answer is open

    def is_right(against: Tensor) -> Tensor:
        matter = first & (supports | down)
        enough = matter.sum(dim=1) >= MOST * first.sum(dim=1)
        speaks_for = (mass * (first & supports)).sum(dim=1) >= (mass * (first & against & ~supports)).sum(dim=1)
        return found & enough & (tied & matter).any(dim=1) & speaks_for

    mass, down = weights.masked_fill(~there, 0), torch.zeros_like(first)
    supports, left, of_best = _needed(game, best & going.unsqueeze(1), fewest)
    going &= ~is_right(first)
    supports |= _needed(game, prefix & going.unsqueeze(1), fewest)[0]
    for way in WAYS:
        going &= ~is_right(first)
        up, falls = _moved(game, first & ~supports & going.unsqueeze(1), way, best, of_best)
        supports, down = supports | up, down | falls
    going &= ~is_right(down)
    supports |= _stand_ins(game, first & ~supports & ~down & ~best & going.unsqueeze(1), best, of_best, left)
    for _ in range(PEELS):
        going &= ~is_right(down)
        rest = first & ~supports & ~down & going.unsqueeze(1)
        rows = rest.any(dim=1).nonzero().squeeze(-1)
        again = torch.zeros_like(found)
        again[rows] = game.decides(rows, rest[rows])[0]
        if not again.any():
            break
        supports |= eliminated(game, rest, again) & again.unsqueeze(1)
    return Pointing(is_right(down), first, first & (supports | down))


def _as_a_block(game: Game, tied: Tensor, size: Tensor, asked: Tensor) -> Tensor:
    """Let all words that tie with the first be read together, where no prefix decides."""
    rows = (asked & (size == NONE) & (tied.sum(dim=1) > 1)).nonzero().squeeze(-1)
    decides, _ = game.decides(rows, tied[rows])
    return size.index_put((rows[decides],), tied.sum(dim=1)[rows[decides]])


def _needed(game: Game, sets: Tensor, fewest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return which words sets that decide need, bool ``(B, W)``; v of a set without each, ``(B, W)``; v of a set, ``(B,)``.

    A word is needed if the others do not decide, and its loss costs half an even share of what the smallest set gives. Values
    that are not asked are NaN.
    """
    asked = sets.any(dim=1).nonzero().squeeze(-1)
    values, left = (torch.full(sets.shape[:size], torch.nan, dtype=torch.float64) for size in (1, 2))
    values[asked] = game.value(asked, sets[asked])
    rows, words = sets.nonzero(as_tuple=True)
    decides, left[rows, words] = game.decides(rows, sets[rows] & ~alone(words, sets.shape[1]))
    share = 0.5 * DECIDES * game.way[rows] / fewest[rows].clamp(min=2)
    needed = torch.zeros_like(sets)
    needed[rows, words] = ~decides & (values[rows] - left[rows, words] >= share)
    return needed, left, values


def _moved(game: Game, asked: Tensor, way: str, best: Tensor, of_best: Tensor) -> tuple[Tensor, Tensor]:
    """Return which asked words move v up, and which down: alone, beside the best set, or by leaving the text."""
    there, (rows, words) = game.texts.there, asked.nonzero(as_tuple=True)
    one = alone(words, asked.shape[1])
    if way == "alone":
        moved = game.value(rows, one) - game.nothing[rows]
    elif way == "beside":
        moved = game.value(rows, best[rows] | one) - of_best[rows]
    else:
        moved = game.texts.whole[rows] - game.value(rows, there[rows] & ~one)
    bound, up, down = MATTERS * game.way[rows], torch.zeros_like(asked), torch.zeros_like(asked)
    up[rows, words], down[rows, words] = moved >= bound, moved <= -bound
    return up, down


def _stand_ins(game: Game, asked: Tensor, best: Tensor, of_best: Tensor, left: Tensor) -> Tensor:
    """Return which asked words can stand in for one of the first words of the best set, bool ``(B, W)``.

    A word stands in for another if it makes good at least half of what the loss of the other costs.

    Args:
        of_best: ``(B,)``, v of the best set.
        left: ``(B, W)``, v of the best set without each of its words.
    """
    several = (best.sum(dim=1) > 1).unsqueeze(1)
    replaced = best & (best.cumsum(dim=1) <= EXCHANGES) & several
    rows, words, others = (asked.unsqueeze(2) & replaced.unsqueeze(1)).nonzero(as_tuple=True)
    sets = (best[rows] & ~alone(others, best.shape[1])) | alone(words, best.shape[1])
    lost = of_best[rows] - left[rows, others]
    helps = (game.value(rows, sets) - left[rows, others] >= lost / 2) & (lost >= MATTERS * game.way[rows])
    found = torch.zeros_like(asked)
    found[rows[helps], words[helps]] = True
    return found
