"""Hold the search for words that decide (E19) beside SHAP's partition explainer, which may read each text as often.

    pip install shap
    python -m benchmarks.beside_shap --model <folder> --texts 64
    python -m benchmarks.beside_shap --model <folder> --data imdb --texts 8 --tokens 300 420

In each text that needs words, E19 searches a set of words that decides. SHAP gives each word a value, in at most as many
passes; a pass is one text that the model reads. A word is absent if the first of E19's fillings stands in its place, and
neighbours make a branch. Stated on 2026-11-29, before the first text was read: the number of first words of SHAP's ranking
that decide, over the number that E19 needs; and the share of texts in which as many of SHAP's first words as E19 needs
decide. Whether words decide is asked in E19's way, and costs SHAP no pass.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from scipy.cluster.hierarchy import linkage
from torch import Tensor

from attest.app.api.batches import batches_of
from attest.app.api.foreign import read_by
from attest.core.measures.numbers import interval
from attest.core.measures.summary import share_interval
from attest.experiments.deciding.experiment import neutral_in
from attest.experiments.deciding.filling import Game
from attest.experiments.deciding.neutral import ROUGH, single_effects
from attest.experiments.deciding.observed import texts_of
from attest.experiments.deciding.search import deciding_words, is_long, places_in, shortest_prefix
from attest.experiments.readings.kinds import READINGS
from attest.models.observation import observe, observe_again
from benchmarks.attributions import asked
from benchmarks.measuring import timed

POOL_TEXTS = 32
"""The number of first texts in which neutral words are searched for."""


class Found(NamedTuple):
    """What both sides found in one text."""

    words: int
    """The number of words of the text."""
    passes: int
    """The number of passes of E19's search, which SHAP may use as well."""
    ours: int
    """The number of words in the set that E19 found."""
    theirs: int
    """The least number of first words of SHAP's ranking that decide."""
    right: bool
    """Whether the first words of SHAP's ranking decide, as many as E19 needs."""
    seconds: tuple[float, float]
    """The CPU seconds of E19 and of SHAP."""


class Absent:
    """SHAP's masker: the words of a text are present or absent, and neighbours make a branch.

    Args:
        words: their number.
    """

    def __init__(self, words: int) -> None:
        self.shape, self.clustering = (1, words), linkage(np.arange(words)[:, None])

    def __call__(self, mask: np.ndarray, *texts: np.ndarray) -> tuple[np.ndarray]:
        """Return which words are present."""
        return (mask[None],)


def shap_values(game: Game, passes: int) -> Tensor:
    """Return the value of each word of the only text of a game, float64 ``(1, W)``, found in at most so many passes.

    Numbers that no word has, as of special tokens, have the value 0.
    """
    from shap.explainers import Partition

    there = game.texts.there

    def read(present: np.ndarray) -> np.ndarray:
        kept = there.repeat(len(present), 1)
        kept[kept.clone()] = torch.from_numpy(present).bool().flatten()
        return game.value(torch.zeros(len(kept), dtype=torch.long), kept, fillings=1).numpy()

    count = int(there.sum())
    explained = Partition(read, Absent(count))(np.ones((1, count)), max_evals=passes, silent=True)
    values = torch.zeros(there.shape, dtype=torch.float64)
    values[there] = torch.from_numpy(np.asarray(explained.values)).flatten()
    return values


def compared(game: Game, gradient: Tensor) -> Found:
    """Search the only text of a game, which needs words, in both ways.

    Args:
        gradient: the ranking ``(1, W)`` that E19 tries in a long text as well.
    """
    values_of, needs = Game(game.texts, game.pool, game.seed), torch.ones(1, dtype=torch.bool)

    def search() -> Tensor:
        falls, rises = single_effects(game, ROUGH, needs)
        return deciding_words(game, [falls + rises, falls, *([gradient] if is_long(game).all() else [])], needs)

    (best, ours), passes = timed(search), game.passes
    values, theirs = timed(lambda: shap_values(values_of, passes))
    size, words, places = int(best.sum()), int(game.texts.there.sum()), places_in(game, values)
    first = shortest_prefix(game, places, range(1, words + 1), torch.tensor([words]), needs)
    right = game.decide(torch.zeros(1, dtype=torch.long), (places < size) & game.texts.there)
    return Found(words, passes, size, int(first), bool(right), (ours, theirs))


def all_compared(model: torch.nn.Module, tokenizer: object, texts: list[str]) -> Iterator[Found]:
    """Compare both ways on every text that needs words.

    Args:
        model, tokenizer: of transformers, a classifier of texts in evaluation mode.
    """
    network, encode, *_ = read_by(model, tokenizer, None, None, None)
    network.eval()
    seen = (
        observe(network, batch["id"], batch["token_ids"], batch["mask"])  # type: ignore[arg-type]
        for batch in batches_of(texts[:POOL_TEXTS], encode, batch_size=POOL_TEXTS)
    )
    neutral = neutral_in(next(seen), 0)
    for batch in batches_of(texts, encode, batch_size=1):
        one = observe(network, batch["id"], batch["token_ids"], batch["mask"])  # type: ignore[arg-type]
        game = Game(texts_of(one), neutral.pool, 0)
        if game.way >= neutral.least_way:
            yield compared(game, game.texts.of_words(READINGS["gradient-input"].of(observe_again(one)).detach().double()))


def main() -> None:
    """Print what was found."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    model, tokenizer, texts, _ = asked(parser)
    found = []
    for one in all_compared(model, tokenizer, texts):
        found.append(one)
        print(f"{len(found)}: {one}", file=sys.stderr, flush=True)
    if not found:
        raise SystemExit(f"None of these {len(texts)} texts needs words; expected some that do: --texts {2 * len(texts)}")
    right = np.array([each.right for each in found], dtype=float)
    ratios = np.array([each.theirs / each.ours for each in found])
    fewer, more = ((ratios < 1).mean(), (ratios > 1).mean())
    ours, theirs = np.array([each.seconds for each in found]).sum(axis=0)
    print(f"{len(found)} texts need words, of {np.mean([each.words for each in found]):.0f} words in the mean")
    print(f"passes a text, either side: {np.mean([each.passes for each in found]):.0f}")
    print(f"words that decide: E19 {np.mean([each.ours for each in found]):.1f}, ", end="")
    print(f"first words of SHAP {np.mean([each.theirs for each in found]):.1f}; ratio in the median {np.median(ratios):.1f}")
    print(f"SHAP needs fewer words in {fewer:.0%} of these texts, more in {more:.0%}")
    print(f"as many of SHAP's first words as E19 needs decide in {interval(right.mean(), *share_interval(right))}")
    print(f"CPU seconds: E19 {ours:.1f}, SHAP {theirs:.1f}")


if __name__ == "__main__":
    main()
