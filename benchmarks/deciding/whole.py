"""Does the search by blocks judge long texts as the search by single words does, and how many passes does it save?

    python -m benchmarks.deciding.whole runs/imdb/jw-bilstm-additive-softmax/seed0 --texts 50

Random test texts of more than 64 words are searched in both ways under the same fillings, and the same explanations are asked.
The search by single words reads each word alone, and takes words out of a set one by one.
"""

import argparse
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import torch
from torch import Tensor

import attest
from attest.experiments.deciding import Game, Texts, deciding_words, pointing, texts_of
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools
from attest.experiments.deciding.neutral import ROUGH, Neutral, single_effects
from attest.experiments.deciding.search import LONG
from attest.experiments.readings.kinds import READINGS, random_reading
from attest.experiments.sampling import reading_order
from benchmarks.deciding.noise import by_id, observed
from benchmarks.deciding.page import kept

BATCH = 10
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


def main() -> None:
    """Search the texts in both ways, and keep a row for each text and explanation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=int, default=50)
    typed = parser.parse_args()
    torch.set_num_threads(1)
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
