"""Does the search by blocks judge long texts as the search by single words does, and how many passes does it save?

    python -m benchmarks.deciding.whole runs/imdb/jw-bilstm-additive-softmax/seed0 --texts 50
    python -m benchmarks.deciding.whole minilm-sst --data imdb --texts 15 --most 110

Random test texts of more than 64 words are searched in both ways under the same fillings, and the same explanations are asked.
The search by single words reads each word alone, and takes words out of a set one by one. With ``--data``, the folder is that
of a fine-tuned Transformer, which goes on trial three times with the same neutral words: by blocks, by single words, and by
blocks where a word that matters must move the model as far as in a short text, as it must where single words are read.
"""

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import torch
from torch import Tensor

import attest
from attest.app.api.measuring import Measuring
from attest.datamodules.instances import FileOptions
from attest.datamodules.labelled import labelled
from attest.experiments.deciding import Game, Texts, deciding_words, pointing, texts_of
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools
from attest.experiments.deciding.filling import DECIDES
from attest.experiments.deciding.neutral import ROUGH, Neutral, single_effects
from attest.experiments.deciding.search import LONG
from attest.experiments.readings.kinds import READINGS, random_reading
from attest.experiments.sampling import reading_order
from attest.models.pretrained.loading import load
from benchmarks.deciding.noise import by_id, observed
from benchmarks.deciding.page import AS_SHORT, kept

BATCH = 10
MANY = 2000
"""Texts that are drawn, of which those of some length are taken."""
EVERY_WORD = 1 << 20
"""With so many words a text is long in the search by single words: none is."""


def judged(texts: Texts, neutral: Neutral, gradient: Tensor, weights: dict[str, Tensor], long: int) -> pd.DataFrame:
    """Return a row for each text and explanation: whether it needs words, how many decide, whether it is right, and passes.

    Args:
        gradient: gradient × input of each token, which ranks the words for the search by blocks, as in E19.
        weights: of each token, by explanation.
        long: the number of words from which a text is searched by blocks.
    """
    game = Game(texts, neutral.pool, 0)
    needs, everyone = game.way >= neutral.least_way, torch.ones(len(texts.ids), dtype=torch.bool)
    with patch("attest.experiments.deciding.search.LONG", long):
        falls, rises = single_effects(game, ROUGH, needs)
        rankings = [falls + rises, falls, *([texts.of_words(gradient)] if long == LONG else [])]
        best = deciding_words(game, rankings, needs)
    searched, parts = game.passes / len(everyone), []
    for name, each in weights.items():
        before = game.passes
        right = pointing(game, best, texts.of_words(each), needs).right
        passes = searched + (game.passes - before) / len(everyone)
        known = {"id": texts.ids, "needs": needs, "words": best.sum(dim=1), "right": right, "passes": passes}
        parts.append(pd.DataFrame(known | {"of": texts.there.sum(dim=1)}).assign(explanation=name))
    return pd.concat(parts)


def of_trials(folder: Path, data: str, texts: int, most: int) -> pd.DataFrame:
    """Put a fine-tuned Transformer on trial by blocks and by single words, on texts of 65 to ``most`` words.

    Returns:
        Rows as those of ``judged``, with the ``way`` of each.
    """
    model, tokenizer = load(str(folder))
    drawn = labelled(data, "test", MANY, FileOptions()).texts
    some = [text for text in drawn if LONG < len(text.split()) <= most][:texts]
    parts: list[pd.DataFrame] = []
    passes: list[int] = []
    pools = Kept(Measuring._read_neutral, passes.clear)
    model.register_forward_pre_hook(lambda _, __, given: passes.append(len(given["input_ids"])), with_kwargs=True)
    rule = import_module("attest.experiments.deciding.pointing")
    of_short, of_long = (partial(least_move, rule, short=short) for short in (True, False))
    for way, long, least in (("blocks", LONG, of_long), ("words", EVERY_WORD, of_short), (AS_SHORT, LONG, of_short)):
        passes.clear()
        with (
            patch("attest.experiments.deciding.search.LONG", long),
            patch.object(rule, "_least_move", least),
            patch.object(Measuring, "_read_neutral", pools),
        ):
            asked = {"E19": {"readings": ["random"]}}
            trial = attest.trial(model, some, asked, tokenizer=tokenizer, processes=1, progress=False)
        rows = trial.table("E19")
        print(way, sum(passes), rows[["needs_words", "words", "right", "right_random"]].mean().round(2).to_dict(), flush=True)
        for name, column in (("rollout", "right"), ("random", "right_random")):
            known = {"id": rows["id"], "needs": rows["needs_words"] == 1, "words": rows["words"], "right": rows[column] == 1}
            of = [len(some[identity].split()) for identity in rows["id"]]
            each = pd.DataFrame(known | {"passes": sum(passes) / len(some), "of": of}).assign(explanation=name)
            parts.append(each.assign(way=way, run=f"{folder.name} on {data}"))
    return pd.concat(parts)


def least_move(rule: Any, game: Game, fewest: Tensor, _long: Tensor, short: bool) -> Tensor:
    """Return how far a word that matters moves the model, ``(B,)``: as in short texts, or as in long ones."""
    even = 0.5 * DECIDES / fewest.clamp(min=1)
    return game.way * (rule.MATTERS if short else even.clamp(max=rule.MATTERS))


class Kept:
    """A search for neutral words that is made once, and whose words are taken again; ``then`` is called after it."""

    def __init__(self, search: Any, then: Callable[[], None]) -> None:
        self.search, self.then, self.found = search, then, None

    def __get__(self, measuring: Any, _type: Any) -> Any:
        def kept(*arguments: Any) -> Any:
            self.found = self.found or self.search(measuring, *arguments)
            self.then()
            return self.found

        return kept


def main() -> None:
    """Search the texts in both ways, and keep a row for each text and explanation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=int, default=50)
    parser.add_argument("--data", help="a corpus or a file of texts, where the folder is that of a fine-tuned Transformer")
    parser.add_argument("--most", type=int, default=360, help="the most words of such a text")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    if typed.data:
        kept("whole-trials", of_trials(typed.run, typed.data, typed.texts, typed.most))
        return
    run = attest.open_run(typed.run)
    network, test, train = run.model.network, by_id(run.split("test")), by_id(run.split("train"))
    neutral = neutral_in(observed(network, train, texts_for_pools(torch.tensor([*train]), 0)[0]), 0)
    order = reading_order(torch.tensor([*test]), 0).tolist()
    chosen = [each for each in order if int(test[each]["mask"].sum()) > LONG][: typed.texts]
    chosen.sort(key=lambda each: int(test[each]["mask"].sum()))
    parts = []
    for start in range(0, len(chosen), BATCH):
        seen = observed(network, test, torch.tensor(chosen[start : start + BATCH]))
        gradient = READINGS["gradient-input"].of(seen).detach().double()
        weights = {"attention": seen.explanation, "random": random_reading(seen, 0)}
        for way, long in (("blocks", LONG), ("words", EVERY_WORD)):
            parts.append(judged(texts_of(seen), neutral, gradient, weights, long).assign(way=way, run=typed.run.parts[-3]))
            print(parts[-1].groupby("explanation")[["of", "needs", "words", "right", "passes"]].mean().round(2), flush=True)
    kept("whole", pd.concat(parts, ignore_index=True))


if __name__ == "__main__":
    main()
