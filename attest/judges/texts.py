"""Rules that give a text its label, and random texts for these rules.

Every draw is a hash of (seed, text, draw, position), so a text depends on no other.

Legend: B texts, T tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from attest.core.randomness import random_bits, random_uniforms

PLUS, MINUS, OTHER_PLUS, OTHER_MINUS, NOT = 1, 2, 3, 4, 5
FILLERS = range(6, 26)
VOCABULARY = 26
SHORTEST, LONGEST = 24, 36
RULES = ("token", "redundant", "conjunction", "negation", "order", "majority")
EVERY_WORD_NEEDED = ("conjunction", "negation", "order")
"""The rules with which the label is only known if all deciding words are known. Right attention must then cover each of
them."""
SPACING = 4
"""A text is divided into stretches of so many tokens, with at most one deciding word in each. Only "not" stands directly
beside another deciding word."""
WORDS = {"token": 1, "redundant": 2, "conjunction": 2, "negation": 1, "order": 2, "majority": 3}


@dataclass(frozen=True)
class Texts:
    """Random texts that a rule labels, and the words that decide their labels."""

    rule: str
    ids: Tensor
    """int64 ``(B,)``: the ids of the texts, 0 to B - 1."""
    tokens: Tensor
    """int64 ``(B, T)``: the token ids, 0 at padding."""
    mask: Tensor
    """bool ``(B, T)``: True at real tokens."""
    labels: Tensor
    """int64 ``(B,)``: the label that the rule gives each text, 0 or 1."""
    deciding: Tensor
    """bool ``(B, T)``: True at the words by which the rule decides the label."""
    exchanged: Tensor
    """int64 ``(B, T)``: the token ids of the same texts after deciding words were exchanged, so that each text has the other
    label."""


def draw_texts(rule: str, count: int, seed: int, lengths: tuple[int, int] = (SHORTEST, LONGEST)) -> Texts:
    """Draw texts that a rule can label.

    Args:
        seed: with the number of a text it fixes that text.
        lengths: the fewest and the most tokens of a text; fewest are 8 for one word that decides, and 4 more for each other.
    """
    ids, (shortest, longest) = torch.arange(count), lengths
    length = shortest + _choice(seed, ids, 0, longest - shortest + 1)
    position = torch.arange(longest)
    mask = position < length.unsqueeze(-1)
    filler = random_bits(seed, ids.unsqueeze(-1), torch.tensor(1), position).remainder(len(FILLERS)) + FILLERS[0]
    words, other_words = _words(rule, seed, ids)
    places = _places(seed, ids, words.shape[1], shortest)
    tokens = (filler * mask).scatter(1, places, words)
    exchanged = (filler * mask).scatter(1, places, other_words)
    deciding = torch.zeros_like(mask).scatter(1, places, True)
    if rule == "negation":
        negated = (_choice(seed, ids, 2, 2) == 1).unsqueeze(-1)
        before = torch.zeros_like(mask).scatter(1, places - 1, negated)
        tokens, exchanged = tokens.masked_fill(before, NOT), exchanged.masked_fill(before, NOT)
        deciding = deciding | before
    return Texts(rule, ids, tokens, mask, _labels(rule, tokens), deciding, exchanged)


def _choice(seed: int, ids: Tensor, draw: int, options: int) -> Tensor:
    return random_bits(seed, ids, torch.tensor(draw)).remainder(options)


def _places(seed: int, ids: Tensor, count: int, shortest: int) -> Tensor:
    """Draw random positions for the deciding words, ``(B, count)``, each in a different part of the text."""
    stretches = torch.arange(shortest // SPACING - 1)
    stretch = random_uniforms(seed, ids.unsqueeze(-1), torch.tensor(3), stretches).argsort(dim=-1)[:, :count]
    within = random_bits(seed, ids.unsqueeze(-1), torch.tensor(4), torch.arange(count)).remainder(SPACING - 2)
    return stretch * SPACING + 1 + within


def _words(rule: str, seed: int, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return each text's deciding words, and words that change its label, ``(B, WORDS[rule])`` each."""
    positive = (_choice(seed, ids, 5, 2) == 1).unsqueeze(-1)
    if rule == "order":
        words = torch.where(positive, torch.tensor([PLUS, OTHER_PLUS]), torch.tensor([OTHER_PLUS, PLUS]))
        return words, words.flip(-1)
    if rule == "conjunction":
        lacking = _choice(seed, ids, 6, 2).unsqueeze(-1)
        negative = torch.where(lacking == 0, torch.tensor([MINUS, OTHER_PLUS]), torch.tensor([PLUS, OTHER_MINUS]))
        both = torch.tensor([PLUS, OTHER_PLUS]).expand_as(negative)
        return torch.where(positive, both, negative), torch.where(positive, negative, both)
    of_sign = torch.where(positive, PLUS, MINUS).repeat(1, WORDS[rule])
    if rule == "majority":
        of_sign[:, -1] = PLUS + MINUS - of_sign[:, -1]
    return of_sign, PLUS + MINUS - of_sign


def _labels(rule: str, tokens: Tensor) -> Tensor:
    plus, minus = (tokens == PLUS).sum(dim=-1), (tokens == MINUS).sum(dim=-1)
    if rule == "conjunction":
        return ((plus > 0) & (tokens == OTHER_PLUS).any(dim=-1)).long()
    if rule == "order":
        return ((tokens == PLUS).int().argmax(dim=-1) < (tokens == OTHER_PLUS).int().argmax(dim=-1)).long()
    if rule == "negation":
        return ((plus > 0) != (tokens == NOT).any(dim=-1)).long()
    return (plus > minus).long()
