"""Does an explanation point at the words that decide? Its own first words are asked.

A set of words *decides* if the model is nearly as sure of its decision with these words among *neutral words*, which hardly
move it, as with the whole text.

Legend: B texts, W words of the longest text.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attest.experiments.deciding.filling import DECIDES, Game, alone
from attest.experiments.deciding.search import NONE, SIZES, is_long, places_in, shortened, shortest_prefix, smallest

FACTOR = 3
"""An explanation is tested with its first words. It may need at most this many times as many of them, to decide, as the
smallest deciding set that was found."""
TIE = 1.1
"""The weights of two words count as equal (tied) if the larger one is less than this many times the smaller one."""
MATTERS = 0.2
"""A word *matters* if it moves the model's output by at least this share of the change from neutral words alone to the whole
text. In long texts a share of 0.4 / n is enough if that is less, where n is the number of words in the smallest deciding
set."""
MOST = 0.75
"""To be right about a text, an explanation must among other conditions pass this one: of the words that it ranks first, so
many that they decide together, at least this share matter. If not, it counts as wrong."""
EXCHANGES = 6
"""A word may also matter because it can replace a word of the smallest deciding set. This is tried for at most this many words
of the set."""
WAYS = ("alone", "beside", "without")
"""The three ways to test whether a word moves the model: the word ``alone`` among neutral words, the word ``beside`` the
smallest deciding set, and the text ``without`` the word."""
PEELS = 4
"""The most rounds in which a further deciding set is searched for among the explanation's first words that are not yet known
to matter."""


class Pointing(NamedTuple):
    """Whether the words that an explanation ranks first decide, and which of them matter, in each text."""

    right: Tensor
    """bool ``(B,)``: whether the explanation is right about a text: its first words decide, most of them matter (move the
    model's output enough), and those that speak for the decision have at least as much weight as those against it."""
    first: Tensor
    """bool ``(B, W)``: True at the first words of the explanation: as many of its highest-ranked words as are needed to
    decide, and words with nearly the weight of the last of them. All False if no such number of words decides."""
    matter: Tensor
    """bool ``(B, W)``: True at the words of ``first`` that are known to matter, which means that they move the model's output
    enough. As soon as the answer about a text is certain, its remaining words are not tested, and stay False."""


def pointing(game: Game, best: Tensor, weights: Tensor, asked: Tensor) -> Pointing:
    """Ask whether the first words of an explanation decide, and whether each of them matters.

    The first words are the shortest prefix that decides, of at most three times as many words as the smallest set that was
    found, and all words with nearly the weight of its last. A word matters if it is needed in this prefix or in the smallest
    set; if it moves v by a fifth of the way when it is taken out of the text, put alone into neutral words, or put beside the
    smallest set; if it can stand in for a word of the smallest set; or if it is in the smallest set that decides of all first
    words that would not matter otherwise. Where so many words tie that they are more than three times the smallest set, only
    words count that are needed in it, or that move v alone. Three quarters of the first words must matter, one of the very
    first, and the weight on words that speak for the decision must be at least the weight on words that speak against it. A
    text is asked no more once that is sure, even if all words that have not been asked spoke against the decision.

    Args:
        best: bool ``(B, W)``, a small set that decides, as ``deciding_words`` returns it.
        weights: ``(B, W)``, larger for words that the explanation puts first; words without weight are never pointed at.
        asked: bool ``(B,)``, the texts that need words.
    """
    there = game.texts.there
    weights = weights.double().masked_fill(~there, -torch.inf)
    places, fewest = places_in(game, weights), best.sum(dim=1)
    most = torch.minimum(FACTOR * fewest, there.sum(dim=1))
    tied = there & (weights > weights.amax(dim=1, keepdim=True) / TIE)  # with the first
    size = _as_a_block(game, tied, _size_of_prefix(game, places, most, asked), asked)
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

    least = _least_move(game, fewest)
    mass, down = weights.masked_fill(~there, 0), torch.zeros_like(first)
    many = first.sum(dim=1) > most
    supports = _needed(game, best, best & first, fewest)[0]
    for way in WAYS:
        going &= ~is_right(first)
        up, falls = _moved(game, first & ~supports & going.unsqueeze(1), way, best, least)
        supports, down = supports | up, down | falls
        if way == "alone":  # so many words tie that they say something only if each of them does
            found &= ~many | (supports.sum(dim=1) >= MOST * first.sum(dim=1))
            going &= found
    going &= ~is_right(first)
    supports |= _needed(game, prefix, prefix & ~supports & going.unsqueeze(1), fewest)[0]
    going &= ~is_right(down)
    supports |= _stand_ins(game, first & ~supports & ~down & ~best & going.unsqueeze(1), best, fewest, least)
    for _ in range(PEELS):
        going &= ~is_right(down)
        rest = first & ~supports & ~down & going.unsqueeze(1)
        again = _decide(game, rest)
        if not again.any():
            break
        supports |= smallest(game, rest, again) & again.unsqueeze(1)
    return Pointing(is_right(down), first, first & (supports | down))


def _size_of_prefix(game: Game, places: Tensor, most: Tensor, asked: Tensor) -> Tensor:
    """Return the size of the shortest prefix that decides, int64 ``(B,)``; in long texts nearly the shortest."""
    long = is_long(game)
    some = shortened(game, places, shortest_prefix(game, places, SIZES, most, asked & long), asked & long)
    return torch.minimum(some, shortest_prefix(game, places, range(1, int(most.max()) + 1), most, asked & ~long))


def _decide(game: Game, sets: Tensor) -> Tensor:
    """Return in which texts the words of a set decide, bool ``(B,)``; False where the set is empty."""
    rows = sets.any(dim=1).nonzero().squeeze(-1)
    found = torch.zeros_like(sets[:, 0])
    found[rows] = game.decide(rows, sets[rows])
    return found


def _as_a_block(game: Game, tied: Tensor, size: Tensor, asked: Tensor) -> Tensor:
    """Let all words that tie with the first be read together, where no prefix decides."""
    rows = (asked & (size == NONE) & (tied.sum(dim=1) > 1)).nonzero().squeeze(-1)
    decides = game.decide(rows, tied[rows])
    return size.index_put((rows[decides],), tied.sum(dim=1)[rows[decides]])


def _needed(game: Game, sets: Tensor, asked: Tensor, fewest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return which asked words sets that decide need, v of these sets, and v of a set without each asked word.

    A word is needed if the others do not decide, and its loss costs half an even share of what the smallest set gives.

    Args:
        sets, asked: bool ``(B, W)``; sets hold the words that are asked.
    Returns:
        bool ``(B, W)``; float64 ``(B,)``, NaN for texts of which no word is asked; and ``(B, W)``, NaN for other words.
    """
    values, left = _values(game, sets, asked.any(dim=1)), torch.full_like(sets, torch.nan, dtype=torch.float64)
    rows, words = asked.nonzero(as_tuple=True)
    decides, left[rows, words] = game.decides(rows, sets[rows] & ~alone(words, sets.shape[1]))
    share = 0.5 * DECIDES * game.way[rows] / fewest[rows].clamp(min=2)
    needed = torch.zeros_like(sets)
    needed[rows, words] = ~decides & (values[rows] - left[rows, words] >= share)
    return needed, values, left


def _values(game: Game, sets: Tensor, asked: Tensor) -> Tensor:
    """Return v of the sets of the texts that are asked, float64 ``(B,)``, NaN for others."""
    rows = asked.nonzero().squeeze(-1)
    values = torch.full_like(asked, torch.nan, dtype=torch.float64)
    values[rows] = game.value(rows, sets[rows])
    return values


def _least_move(game: Game, fewest: Tensor) -> Tensor:
    """Return how far a word that matters moves v, ``(B,)``; in long texts, by half an even share of the smallest set's."""
    even = 0.5 * DECIDES / fewest.clamp(min=1)
    return game.way * torch.where(is_long(game), even.clamp(max=MATTERS), MATTERS)


def _moved(game: Game, asked: Tensor, way: str, best: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """Return which asked words move v up, and which down: alone, beside the best set, or by leaving the text."""
    there, (rows, words) = game.texts.there, asked.nonzero(as_tuple=True)
    one = alone(words, asked.shape[1])
    if way == "alone":
        moved = game.value(rows, one) - game.nothing[rows]
    elif way == "beside":
        moved = game.value(rows, best[rows] | one) - _values(game, best, asked.any(dim=1))[rows]
    else:
        moved = game.texts.whole[rows] - game.value(rows, there[rows] & ~one)
    bound, up, down = least[rows], torch.zeros_like(asked), torch.zeros_like(asked)
    up[rows, words], down[rows, words] = moved >= bound, moved <= -bound
    return up, down


def _stand_ins(game: Game, asked: Tensor, best: Tensor, fewest: Tensor, least: Tensor) -> Tensor:
    """Return which asked words can stand in for one of the first words of the best set, bool ``(B, W)``.

    A word stands in for another if it makes good at least half of what the loss of the other costs.

    Args:
        least: ``(B,)``, how much the loss of a word must cost at least.
    """
    several = (asked.any(dim=1) & (best.sum(dim=1) > 1)).unsqueeze(1)
    replaced = best & (best.cumsum(dim=1) <= EXCHANGES) & several
    _, of_best, left = _needed(game, best, replaced, fewest)
    lost = of_best.unsqueeze(1) - left
    replaced &= lost >= least.unsqueeze(1)
    rows, words = asked.nonzero(as_tuple=True)
    which = replaced.double().topk(min(EXCHANGES, replaced.shape[1]), dim=1).indices[rows]  # (N, 6), any words at its end
    pair, place = replaced[rows].gather(1, which).nonzero(as_tuple=True)
    rows, words, others = rows[pair], words[pair], which[pair, place]
    sets = (best[rows] & ~alone(others, best.shape[1])) | alone(words, best.shape[1])
    helps = game.value(rows, sets) - left[rows, others] >= lost[rows, others] / 2
    found = torch.zeros_like(asked)
    found[rows[helps], words[helps]] = True
    return found
