"""The search for a small set of words that decides.

A set of words *decides* if the model is nearly as sure of its decision with these words among *neutral words*, which hardly
move it, as with the whole text.

Legend: B texts, W words of the longest text, N sets of words.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.experiments.deciding.filling import Game, alone

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
"""The numbers of highest-ranked words that are tried, one after the other, until these words alone decide."""
LONG = 64
"""A text with more words than this counts as long. To save passes, the search then tests blocks of its words in the place of
single words."""
BLOCKS, PARTS = 16, 4
"""The first: how many blocks the words of a long text are cut into. The second: how many parts each block that was kept is cut
into in the next round."""
ROUGHLY = 2
"""Blocks of words are ranked by what the model's output loses without them. This is how often that loss is measured for each
block, each time with other random neutral words in its place."""
NONE = 1 << 30
"""The value that stands for “no number of highest-ranked words decides” where the smallest such number is stored."""


def places_in(game: Game, scores: Tensor) -> Tensor:
    """Return the place of each word in a ranking, from 0, int64 ``(B, W)``; the largest score comes first, ties at random."""
    there = game.texts.there
    words = torch.arange(there.shape[1], device=there.device)
    chance = random_uniforms(stream(game.seed, "ties of words"), game.texts.ids[:, None], words)
    by_chance = chance.argsort(dim=1)
    ranked = scores.masked_fill(~there, -torch.inf).gather(1, by_chance)
    order = by_chance.gather(1, ranked.argsort(dim=1, descending=True, stable=True))
    return torch.empty_like(order).scatter_(1, order, words.expand_as(order))


def is_long(game: Game) -> Tensor:
    """Return which texts are long, bool ``(B,)``."""
    return game.texts.there.sum(dim=1) > LONG


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
        decides = game.decide(rows, (places[rows] < size) & there[rows])
        found[rows[decides]] = size
    return found


def shortened(game: Game, places: Tensor, size: Tensor, asked: Tensor) -> Tensor:
    """Return a smaller size at which the prefix still decides, int64 ``(B,)``, by bisection down to the size tried before.

    Args:
        size: of ``SIZES``, as ``shortest_prefix`` returns it.
    """
    there, size, sizes = game.texts.there, size.clone(), torch.tensor((0, *SIZES), device=size.device)
    fails = sizes[(torch.searchsorted(sizes, size) - 1).clamp(min=0)]
    while (rows := (asked & (size < NONE) & (size - fails > 1)).nonzero().squeeze(-1)).numel():
        half = (size + fails)[rows] // 2
        decides = game.decide(rows, (places[rows] < half.unsqueeze(1)) & there[rows])
        size[rows[decides]], fails[rows[~decides]] = half[decides], half[~decides]
    return size


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
        best = torch.full_like(sets, -torch.inf, dtype=left.dtype).index_put((at, words), left).argmax(dim=1)
        rows = going.nonzero().squeeze(-1)
        less = sets[rows] & ~alone(best[rows], sets.shape[1])
        decides, _ = game.decides(rows, less)
        sets[rows[decides]] = less[decides]
        going[rows[~decides]] = False
        going &= sets.sum(dim=1) > 1
    return sets


def narrowed(game: Game, sets: Tensor, asked: Tensor) -> Tensor:
    """Take blocks of words out of sets that decide, and cut what stays into smaller blocks, down to single words.

    Of the blocks, those whose loss costs least go together, as many as may go; how many is found by bisection.

    Args:
        sets: bool ``(B, W)``.
        asked: bool ``(B,)``.
    """
    sets, going = sets.clone(), asked & (sets.sum(dim=1) > 1)
    parts = torch.full_like(game.texts.ids, BLOCKS)
    while going.any():
        size = sets.sum(dim=1)
        blocks = torch.minimum(parts, size)
        block = (sets.cumsum(dim=1) - 1) * blocks.unsqueeze(1) // size.clamp(min=1).unsqueeze(1)  # of each word of a set
        places = _places_of_blocks(game, sets, block, blocks.masked_fill(~going, 0))
        gone = _as_many_as_may_go(game, sets, places, blocks, going)
        sets &= (places >= gone.unsqueeze(1)) | ~going.unsqueeze(1)
        going &= ((blocks < size) | (gone > 0)) & (sets.sum(dim=1) > 1)
        parts = PARTS * (blocks - gone)
    return sets


def _places_of_blocks(game: Game, sets: Tensor, block: Tensor, blocks: Tensor) -> Tensor:
    """Return the place of each word's block, int64 ``(B, W)``; the block whose loss costs least comes first.

    Args:
        block: int64 ``(B, W)``, the number of each word's block.
        blocks: int64 ``(B,)``, how many each text has.
    """
    numbers = torch.arange(sets.shape[1], device=sets.device)
    rows, chosen = (numbers < blocks.unsqueeze(1)).nonzero(as_tuple=True)
    left = torch.full_like(sets, -torch.inf, dtype=torch.float64)
    left[rows, chosen] = game.value(rows, sets[rows] & (block[rows] != chosen.unsqueeze(1)), ROUGHLY)
    order = left.argsort(dim=1, descending=True, stable=True)
    return torch.empty_like(order).scatter_(1, order, numbers.expand_as(order)).gather(1, block.clamp(min=0))


def _as_many_as_may_go(game: Game, sets: Tensor, places: Tensor, blocks: Tensor, asked: Tensor) -> Tensor:
    """Return how many of the first blocks can be taken out of sets that then still decide, int64 ``(B,)``, by bisection."""
    gone, most = torch.zeros_like(blocks), (blocks - 1) * asked
    while (rows := (gone < most).nonzero().squeeze(-1)).numel():
        half = (gone + most + 1)[rows] // 2
        decides = game.decide(rows, sets[rows] & (places[rows] >= half.unsqueeze(1)))
        gone[rows[decides]], most[rows[~decides]] = half[decides], half[~decides] - 1
    return gone


def smallest(game: Game, sets: Tensor, asked: Tensor) -> Tensor:
    """Take words out of sets that decide, as long as the rest decides: one by one, or in blocks in long texts."""
    long = is_long(game)
    return narrowed(game, eliminated(game, sets, asked & ~long), asked & long)


def deciding_words(game: Game, rankings: Sequence[Tensor], asked: Tensor) -> Tensor:
    """Search for a small set of words that decides, in each text.

    Prefixes of several rankings are tried, and words are taken out of the smallest that decides; in long texts, whole blocks
    first. Another set of as few words may decide as well.

    Args:
        rankings: scores ``(B, W)``, larger for words that are tried earlier. A ranking is not tried in texts in which some
            scores are NaN.
        asked: bool ``(B,)``, the texts that need words.
    Returns:
        bool ``(B, W)``, empty for texts that are not asked.
    """
    there = game.texts.there
    best = there & asked.unsqueeze(1)
    for scores in rankings:
        known = ~(scores.isnan() & there).any(dim=1)
        places = places_in(game, scores)
        size = shortest_prefix(game, places, [*SIZES], best.sum(dim=1) - 1, asked & known)
        best = torch.where((size < NONE).unsqueeze(1), (places < size.unsqueeze(1)) & there, best)
    return smallest(game, best, asked)
