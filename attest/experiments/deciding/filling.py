"""The value of a set of words: what the model says of a text in which random neutral words stand for all other words.

A set of words *decides* if the model is nearly as sure of its decision with these words among *neutral words*, which hardly
move it, as with the whole text.

Legend: B texts, T tokens, W words of the longest text, N sets of words, R fillings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from attest.core.memory import by_rows
from attest.core.randomness import random_bits, stream

Read = Callable[[Tensor, Tensor], Tensor]
"""A function from the row numbers of N texts, int64 ``(N,)``, and their token ids with some tokens replaced, int64 ``(N, T)``,
to the probability, ``(N,)``, of the class that the model predicts for the whole text. For a model that predicts a number:
minus the distance to its prediction for the whole text."""
TWO, FEW, MORE = 2, 4, 12
"""How often the model reads a set of words, each time with other random neutral words in the place of all other words. It
reads 2 times first, and stops if the set could no longer come close to the bound from which it counts as deciding. Else it
reads 4 times in all, and 12 times more if the result is above the bound or close below it."""
OPEN = 0.15
"""How close below the bound of ``DECIDES`` a set of words must be to be read ``MORE`` times more: by less than this share of
the change in the model's output from no words of the text to all its words."""
DECIDES = 0.8
"""A set of words decides if it reaches, among neutral words, at least this share of the change in the model's output from
neutral words alone to the whole text."""


@dataclass(frozen=True)
class Texts:
    """Texts, and how their model reads variants of them."""

    read: Read
    ids: Tensor
    """int64 ``(B,)``: the number that identifies each text. Together with the seed it fixes the random words that replace
    words of the text."""
    tokens: Tensor
    """int64 ``(B, T)``: the token ids of the whole texts."""
    words: Tensor
    """int64 ``(B, T)``: the index of the word that each token belongs to, from 0; below 0 for tokens that are never replaced,
    such as special tokens."""
    most: float = 1.0
    """The largest value that ``read`` can return: 1 for a probability, 0 for a model of one number, where ``read`` returns
    minus a distance."""

    @cached_property
    def there(self) -> Tensor:
        """Return which words each text has, bool ``(B, W)``."""
        found = torch.zeros(len(self.words), max(1, int(self.words.max()) + 1), dtype=torch.bool, device=self.words.device)
        return found.scatter_reduce(1, self.words.clamp(min=0), self.words >= 0, "amax")

    @cached_property
    def whole(self) -> Tensor:
        """Return the probability of each text's decision, float64 ``(B,)``."""
        rows = torch.arange(len(self.tokens), device=self.tokens.device)
        return self.read(rows, self.tokens).double()

    def repeated(self, times: int) -> "Texts":
        """Return all texts several times, one block of all after another."""
        count = len(self.ids)

        def read(rows: Tensor, tokens: Tensor) -> Tensor:
            return self.read(rows % count, tokens)

        return Texts(read, self.ids.repeat(times), self.tokens.repeat(times, 1), self.words.repeat(times, 1), self.most)

    def of_words(self, values: Tensor) -> Tensor:
        """Sum the values ``(B, T)`` of tokens over the tokens of each word, ``(B, W)``; 0 for words that are not there."""
        kept = values.masked_fill(self.words < 0, 0)
        return kept.new_zeros(self.there.shape).scatter_add(1, self.words.clamp(min=0), kept)


class Game:
    """The value v(S) of each set S of words: the mean probability of the decision over fillings of all other words.

    A set is read once under each filling, however often it is asked for: explanations are asked about the same words.

    Args:
        pool: int64 ``(P,)``, the tokens that fillings are drawn from; or ``(B, P)``, those of each text, with -1 behind them.
        seed: with the id of a text it fixes the fillings of this text, which all its sets share.
    """

    def __init__(self, texts: Texts, pool: Tensor, seed: int) -> None:
        self.texts, self.pool, self.seed = texts, pool.expand(len(texts.ids), -1), seed
        self.passes = 0
        """The number of texts, each with some words replaced, that the model has read so far; it measures the cost."""
        self._sets = texts.ids[:0]  # int64 (K,), the numbers of the sets that have been read, in ascending order
        self._read = torch.empty(0, FEW + MORE, dtype=torch.float64, device=texts.ids.device)  # (K, R), NaN: not read yet

    @cached_property
    def nothing(self) -> Tensor:
        """Return v of no word, float64 ``(B,)``."""
        everyone = torch.arange(len(self.texts.tokens), device=self.texts.tokens.device)
        return self.value(everyone, torch.zeros_like(self.texts.there), FEW + MORE)

    @property
    def way(self) -> Tensor:
        """Return how far the model goes from no words to all words, ``(B,)``."""
        return self.texts.whole - self.nothing

    def value(self, rows: Tensor, kept: Tensor, fillings: int = FEW, after: int = 0) -> Tensor:
        """Return v of N sets, float64 ``(N,)``: the mean of ``outcomes``."""
        return self.outcomes(rows, kept, fillings, after).mean(dim=1)

    def outcomes(self, rows: Tensor, kept: Tensor, fillings: int = FEW, after: int = 0) -> Tensor:
        """Return the probability of the decision under each filling of N sets, float64 ``(N, R)``.

        Args:
            rows: int64 ``(N,)``, the text of each set.
            kept: bool ``(N, W)``, the words of each set.
            fillings, after: how many fillings are read, and how many come before them; at most 16 in all.
        """
        asked, wanted = self._numbers(rows, kept), slice(after, after + fillings)
        sets, place = torch.cat([self._sets, asked]).unique(return_inverse=True)
        before, now = place.split([len(self._sets), len(asked)])
        read = self._read.new_full((len(sets), FEW + MORE), torch.nan).index_put((before,), self._read)
        one = torch.empty_like(sets).index_put((now,), torch.arange(len(now), device=now.device))  # that asks for each set
        new = now.unique()
        which, draws = read[new, wanted].isnan().nonzero(as_tuple=True)
        new, draws = new[which], draws + after
        read[new, draws] = self._read_now(rows[one[new]], kept[one[new]], draws)
        self._sets, self._read = sets, read
        return read[now, wanted]

    def _numbers(self, rows: Tensor, kept: Tensor) -> Tensor:
        """Return a number for each of N sets, int64 ``(N,)``: a sum of one random number for each word (Zobrist hashing).

        That two of a million sets have the same number has a probability of 3e-8.
        """
        return random_bits(stream(self.seed, "sets"), rows, (kept * self._numbers_of_words).sum(dim=1))

    @cached_property
    def _numbers_of_words(self) -> Tensor:
        there = self.texts.there
        return random_bits(stream(self.seed, "words of sets"), torch.arange(there.shape[1], device=there.device))

    @cached_property
    def _fillings(self) -> Tensor:
        """Return the token that each filling puts at each place of each text, int64 ``(B, R, T)``."""
        places = torch.arange(self.texts.tokens.shape[1], device=self.pool.device)
        draws = torch.arange(FEW + MORE, device=self.pool.device).unsqueeze(-1)
        drawn = random_bits(stream(self.seed, "fillings"), self.texts.ids[:, None, None], draws, places)
        place = drawn.remainder((self.pool >= 0).sum(dim=1)[:, None, None])
        return self.pool.gather(1, place.flatten(1)).view_as(place)

    def repeated(self, times: int) -> "Game":
        """Return the game of all texts several times, which reads no set that has been read here."""
        return _Repeated(self, times)

    def _read_now(self, rows: Tensor, kept: Tensor, draws: Tensor) -> Tensor:
        """Read N sets, each under the filling of one number, int64 ``(N,)``; returns float64 ``(N,)``."""
        texts = self.texts

        def of_sets(rows: Tensor, kept: Tensor, draws: Tensor) -> Tensor:
            words = texts.words[rows]
            stays = kept.gather(1, words.clamp(min=0)) | (words < 0)
            return texts.read(rows, torch.where(stays, texts.tokens[rows], self._fillings[rows, draws])).double()

        self.passes += len(rows)
        if not len(rows):
            return torch.empty(0, dtype=torch.float64, device=rows.device)
        return by_rows(of_sets, 4 * texts.tokens[0].nbytes, rows, kept, draws)

    def decide(self, rows: Tensor, kept: Tensor) -> Tensor:
        """Return whether each of N sets decides, bool ``(N,)``: as ``decides`` says, in fewer passes.

        A set is read under two fillings first. It is read no more if it could not come close to the bound, even if the model
        were as sure as it can be under all others.
        """
        close = self.nothing[rows] + (DECIDES - OPEN) * self.way[rows]
        at_best = (TWO * self.value(rows, kept, TWO) + (FEW - TWO) * self.texts.most) / FEW
        going, found = (at_best > close).nonzero().squeeze(-1), torch.zeros_like(rows, dtype=torch.bool)
        found[going] = self.decides(rows[going], kept[going])[0]
        return found

    def decides(self, rows: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Return whether each of N sets decides, bool ``(N,)``, and its v, ``(N,)``.

        Sets above the bound or close below it are read under further fillings, because four can be lucky.
        """
        bound = self.nothing[rows] + DECIDES * self.way[rows]
        found = self.value(rows, kept)
        near = (found > bound - OPEN * self.way[rows]).nonzero().squeeze(-1)
        more = self.value(rows[near], kept[near], MORE, after=FEW)
        found[near] = (FEW * found[near] + MORE * more) / (FEW + MORE)
        return found >= bound, found


class _Repeated(Game):
    def __init__(self, game: Game, times: int) -> None:
        super().__init__(game.texts.repeated(times), game.pool.repeat(times, 1), game.seed)
        self._game = game

    def outcomes(self, rows: Tensor, kept: Tensor, fillings: int = FEW, after: int = 0) -> Tensor:
        return self._game.outcomes(rows % len(self._game.texts.ids), kept, fillings, after)


def alone(words: Tensor, size: int) -> Tensor:
    """Return N sets of one word each, bool ``(N, size)``, for word numbers int64 ``(N,)``."""
    return torch.nn.functional.one_hot(words, size).bool()
