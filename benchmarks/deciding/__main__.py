"""Hold the measure of what decides against mechanisms whose deciding words are known.

    python -m benchmarks.deciding

It writes docs/results/deciding.md, for which ``trained`` and ``planted`` beside this file measure the rest.
"""

import argparse

import pandas as pd
import torch
from torch import Tensor

from attest.experiments.deciding import Game, Texts, deciding_words, neutral_words, pointing
from benchmarks.deciding.mechanisms import MECHANISMS, Case, Draw, is_looked_at
from benchmarks.deciding.page import kept


def texts_of(case: Case) -> tuple[Texts, Tensor]:
    """Return the texts of a case, and what its mechanism says of them, ``(B, K)``."""
    said = case.logits(case.tokens, case.mask).softmax(dim=1)
    decided = said.argmax(dim=1)

    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = case.logits(tokens, case.mask[rows]).softmax(dim=1)
        return found.gather(1, decided[rows].unsqueeze(1)).squeeze(1)

    places = torch.arange(case.tokens.shape[1]).expand_as(case.tokens)
    words = places.masked_fill(~case.mask, -1)
    return Texts(read, torch.arange(len(case.tokens)), case.tokens, words), said


def held_against(case: Case, seed: int) -> pd.DataFrame:
    """Return a row for each explanation of a case: the share of texts in which it is right, by rule and as measured."""
    texts, said = texts_of(case)
    neutral, falls, rises = neutral_words(texts, said, seed)
    game = Game(texts, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    best = deciding_words(game, [falls + rises, falls], needs)
    rows: list[dict[str, object]] = []
    for name, (weights, truth) in case.readings.items():
        passes = game.passes
        found = pointing(game, best, weights, needs).right
        both = needs & case.needs
        shared = (found == truth)[both]
        rows.append(
            {
                "explanation": name,
                "right": float(truth[case.needs].double().mean()) if case.needs.any() else float("nan"),
                "measured": float(found[needs].double().mean()) if needs.any() else float("nan"),
                "texts": int(needs.sum()),
                "agree": float(shared.double().mean()) if len(shared) else float("nan"),
                "needs": float((needs == case.needs).double().mean()),
                "words": float(best.sum(dim=1)[needs].double().mean()) if needs.any() else 0.0,
                "search": passes / len(needs) if not rows else float("nan"),
                "passes": (game.passes - passes) / len(needs),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Try all mechanisms, print a table, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--texts", type=int, default=64)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    parts = [
        held_against(make(Draw(typed.seed, typed.texts)), typed.seed).assign(mechanism=name, looked_at=is_looked_at(name))
        for name, make in MECHANISMS.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    print(table.set_index(["mechanism", "explanation"]).round(2).to_string())
    kept("mechanisms", table)


if __name__ == "__main__":
    main()
