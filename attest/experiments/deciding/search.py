"""The search for a small set of words that decides.

Legend: B texts, W words of the longest text, N sets of words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.experiments.deciding.filling import Game, alone

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The sizes of the prefixes that are tried."""
NONE = 1 << 30
"""The size of the shortest prefix that decides, where none does."""


def places_in(game: Game, scores: Tensor) -> Tensor:
    """Return the place of each word in a ranking, from 0, int64 ``(B, W)``; the largest score comes first, ties at random."""
    there = game.texts.there
    chance = random_uniforms(stream(game.seed, "ties of words"), game.texts.ids[:, None], torch.arange(there.shape[1]))
    by_chance = chance.argsort(dim=1)
    ranked = scores.masked_fill(~there, -torch.inf).gather(1, by_chance)
    order = by_chance.gather(1, ranked.argsort(dim=1, descending=True, stable=True))
    return torch.empty_like(order).scatter_(1, order, torch.arange(there.shape[1]).expand_as(order))


def shortest_prefix(game: Game, places: Tensor, sizes: Sequence[int], most: Tensor, asked: Tensor) -> Tensor:
    """Return the first of ``sizes`` at which the prefix of a ranking decides, int64 ``(B,)``; ``NONE`` if none does.

    Args:
        places: as ``places_in`` returns them.
        most: int64 ``(B,)``, the largest size that is tried.
        asked: bool ``(B,)``, texts that are tried at all.
    """
    there, found = game.texts.there, torch.full_like(most, NONE)
    for size in sizes:
        rows = (asked & (found == NONE) & (size <= most)).nonzero().squeeze(-1)
        if not len(rows):
            continue
        decides, _ = game.decides(rows, (places[rows] < size) & there[rows])
        found[rows[decides]] = size
    return found


def eliminated(game: Game, sets: Tensor, asked: Tensor) -> Tensor:
    """Take words out of sets that decide, as long as the rest decides; the word whose loss costs least goes first.

    Args:
        sets: bool ``(B, W)``.
        asked: bool ``(B,)``.
    """
    sets, going = sets.clone(), asked & (sets.sum(dim=1) > 1)
    while going.any():
        at, words = (sets & going.unsqueeze(1)).nonzero(as_tuple=True)
        left = game.value(at, sets[at] & ~alone(words, sets.shape[1]))
        best = torch.full(sets.shape, -torch.inf, dtype=left.dtype).index_put((at, words), left).argmax(dim=1)
        rows = going.nonzero().squeeze(-1)
        less = sets[rows] & ~alone(best[rows], sets.shape[1])
        decides, _ = game.decides(rows, less)
        sets[rows[decides]] = less[decides]
        going[rows[~decides]] = False
        going &= sets.sum(dim=1) > 1
    return sets


def deciding_words(game: Game, rankings: Sequence[Tensor], asked: Tensor) -> Tensor:
    """Search for a small set of words that decides, in each text.

    Prefixes of several rankings are tried, and words are taken out of the smallest that decides. Another set of as few words
    may decide as well.

    Args:
        rankings: scores ``(B, W)``, larger for words that are tried earlier.
        asked: bool ``(B,)``, the texts that need words.
    Returns:
        bool ``(B, W)``, empty for texts that are not asked.
    """
    there = game.texts.there
    best = there & asked.unsqueeze(1)
    for scores in rankings:
        places = places_in(game, scores)
        size = shortest_prefix(game, places, [*SIZES], best.sum(dim=1) - 1, asked)
        best = torch.where((size < NONE).unsqueeze(1), (places < size.unsqueeze(1)) & there, best)
    return eliminated(game, best, asked)
