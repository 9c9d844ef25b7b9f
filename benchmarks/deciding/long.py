"""Hold the measure of what decides against mechanisms in long texts, which are searched by blocks of words.

python -m benchmarks.deciding.long
"""

import argparse

import pandas as pd
import torch

from attest.experiments.deciding.neutral import FEW_WORDS
from benchmarks.deciding.__main__ import held_against
from benchmarks.deciding.mechanisms import MECHANISMS, Draw
from benchmarks.deciding.page import kept

LENGTHS = (100, 200, 400)
LEFT_OUT = ("length", "place")
"""Mechanisms of which the page of short texts says all that can be said."""


def main() -> None:
    """Try the mechanisms at each length, print a table, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=16)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    parts = []
    for name in MECHANISMS:
        for words in LENGTHS if name not in LEFT_OUT else ():
            case = MECHANISMS[name](Draw(typed.seed, typed.texts, (words - words // 20, words)))
            parts.append(held_against(case, typed.seed).assign(mechanism=name, length=words, singles=4 * FEW_WORDS + 2))
            print(parts[-1].round(2).to_string(header=False), flush=True)
    kept("long", pd.concat(parts, ignore_index=True))


if __name__ == "__main__":
    main()
