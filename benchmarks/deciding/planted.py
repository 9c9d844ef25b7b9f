"""Hold the measure of what decides against planted rationales, by length of text, on a finished run of `make train`.

    python -m benchmarks.deciding.planted runs/planted/jw-bilstm-additive-softmax/seed0

With ``--name marked``, for a run of ``benchmarks.deciding.marked``, which has learned from the rationales alone.

A rationale is the truth of the data. It is taken for the model's only in texts that the model obeys: in which it decides as
the label says, and no word outside the rationale moves the prediction by 0.05 when it alone is exchanged.
"""

import argparse
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

import attest
from attest.core.measures import probabilities
from attest.datamodules.planted import planted_texts
from attest.experiments import observe
from attest.experiments.deciding import Game, Texts, deciding_words, neutral_words, pointing
from attest.experiments.deciding.filling import alone
from attest.experiments.deciding.pointing import TIE
from benchmarks.deciding.page import kept

LENGTHS = ((6, 10), (10, 20), (20, 30), (30, 45), (45, 60))
OBEYS = 0.05
EXCHANGES = 8


def of_length(run: Any, lengths: tuple[int, int], count: int, seed: int) -> dict[str, float | str]:
    """Return what is found on planted texts of some length."""
    network: Any = run.model.network
    batches = [*run.split("test")]
    known = {word: int(id) for batch in batches for row, words in zip(batch["token_ids"], batch["tokens"], strict=True)
             for id, word in zip(row, words, strict=False)}  # fmt: skip
    texts = list(islice(planted_texts("negation", 1000 + seed, lengths), count))
    size = max(len(text) for text, _ in texts)
    tokens = torch.zeros(count, size, dtype=torch.int64)
    rationale = torch.zeros(count, size, dtype=torch.bool)
    for row, (text, _) in enumerate(texts):
        tokens[row, : len(text)] = torch.tensor([known[word] for word, _ in text])
        rationale[row, : len(text)] = torch.tensor([decides for _, decides in text])
    mask, ids = tokens != 0, torch.arange(count)
    observation = observe(network, ids, tokens, mask)
    said = observation.probabilities
    decided = said.argmax(dim=1)

    @torch.no_grad()
    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = [probabilities(network(*part)) for part in zip(tokens.split(256), mask[rows].split(256), strict=True)]
        return torch.cat(found).gather(1, decided[rows].unsqueeze(1)).squeeze(1)

    asked = Texts(read, ids, tokens, torch.arange(size).expand(count, -1).masked_fill(~mask, -1))
    neutral, falls, rises = neutral_words(asked, said, seed)
    singles = 4 * asked.there.double().sum(dim=1).mean() + 2  # passes of neutral_words
    game = Game(asked, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    best = deciding_words(game, [falls + rises, falls], needs)
    searched = game.passes
    found = pointing(game, best, observation.attention.double(), needs).right
    pointed = game.passes - searched
    rows, words = (mask & ~rationale).nonzero(as_tuple=True)
    moved = (game.outcomes(rows, asked.there[rows] & ~alone(words, size), EXCHANGES) - asked.whole[rows, None]).abs()
    most = torch.zeros(count, size, dtype=torch.float64).index_put((rows, words), moved.amax(dim=1)).amax(dim=1)
    obeys = (most < OBEYS) & (decided == torch.tensor([label for _, label in texts])) & needs
    attention = observation.attention
    others = attention.masked_fill(rationale | ~mask, 0).amax(dim=1)
    truth = attention.masked_fill(~rationale, torch.inf).amin(dim=1) >= TIE * others
    same = (best == rationale[:, : best.shape[1]]).all(dim=1)
    foreign = best & ~rationale[:, : best.shape[1]] & obeys.unsqueeze(1)
    beside = Counter(texts[row][0][place][0] for row, place in foreign.nonzero().tolist())
    return {
        "texts": count,
        "needs": float(needs.double().mean()),
        "obeyed": int(obeys.sum()),
        "agree": float((found == truth)[obeys].double().mean()),
        "set": float(same[obeys].double().mean()),
        "right": float(found[obeys].double().mean()),
        "foreign": " ".join(f"{word} ({times})" for word, times in beside.most_common(3)),
        "agree, others": float((found == truth)[needs & ~obeys].double().mean()),
        "set, others": float(same[needs & ~obeys].double().mean()),
        "singles": float(singles),
        "search": searched / count,
        "pointing": pointed / count,
    }


def main() -> None:
    """Print a line for each length of text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", default="planted", choices=("planted", "marked"), help="the table that is written")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    run = attest.open_run(typed.run, trust=["benchmarks.deciding.marked"])
    rows = [{"words": f"{a} to {b}", **of_length(run, (a, b), typed.texts, typed.seed)} for a, b in LENGTHS]
    print(pd.DataFrame(rows).round(3).to_string(index=False))
    kept(typed.name, pd.DataFrame(rows))


if __name__ == "__main__":
    main()
