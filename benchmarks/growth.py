"""Measure how the cost of evidence grows with length, layers and texts.

    python -m benchmarks.growth --longest 512
    python -m benchmarks.growth --longest 4096 --texts 1 --only "leave-one-out, decoder" "gradient × input"
    python -m benchmarks.growth --longest 4096 --texts 1 --only "which words decide"

The first takes five minutes, the second half an hour.

Random Transformers of 128 numbers a token; CPU seconds of one thread. The exponent is the slope of the logarithms from the
second size on: 1 is proportional, 2 is with the square. *Which words decide* is E19's search for words that decide, and
nothing else of E19. The decision of a random network hangs on no word, so the search is told of one that hangs on three; the
network reads whatever the search asks about.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForSequenceClassification

from attest.experiments.deciding.filling import Game, Texts
from attest.experiments.deciding.neutral import ROUGH, single_effects
from attest.experiments.deciding.observed import texts_of
from attest.experiments.deciding.search import deciding_words
from attest.experiments.importance import gradient_times_input, predictions_without_each
from attest.models.observation import Observation, observe
from attest.models.pretrained.network import PretrainedNetwork
from attest.report.run_tables import markdown_table
from benchmarks.measuring import timed

SMALL = {
    "vocab_size": 1000, "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 4, "pad_token_id": 0,
    "max_position_embeddings": 4096,
}  # fmt: skip
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
OTHER = 2
"""The token that stands for words that are away; no text has it."""
LAYERS, TEXTS = (2, 4, 8), (4, 8, 16)


def network(decoder: bool, layers: int = 4) -> PretrainedNetwork:
    """Return a random classifier of texts."""
    torch.manual_seed(0)
    if decoder:
        return PretrainedNetwork(LlamaForSequenceClassification(LlamaConfig(**SMALL, num_hidden_layers=layers)).eval(), 0)
    return PretrainedNetwork(BertForSequenceClassification(BertConfig(**SMALL, num_hidden_layers=layers)).eval(), 0)


def observed(reads: PretrainedNetwork, texts: int, length: int) -> Observation:
    """Return the observation of random texts."""
    tokens = torch.randint(3, 1000, (texts, length))
    return observe(reads, torch.arange(texts), tokens, torch.ones_like(tokens, dtype=torch.bool))


def which_words_decide(observation: Observation) -> Tensor:
    """Search the words of texts that hang on their words 1, 2 and 3, counted from 0; returns bool ``(B, W)``."""
    texts, hangs = texts_of(observation), slice(1, 4)

    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        texts.read(rows, tokens)
        there = tokens[:, hangs] == texts.tokens[rows, hangs]
        return there.all(dim=1) * 0.6 + there.double().mean(dim=1) * 0.3

    told = Texts(read, texts.ids, texts.tokens, texts.words)
    game, everyone = Game(told, torch.tensor([OTHER]), 0), torch.ones(len(texts.ids), dtype=torch.bool)
    falls, rises = single_effects(game, ROUGH, everyone)
    gradient = texts.of_words(gradient_times_input(observation).double())  # as in long texts, where it saves passes
    return deciding_words(game, [falls + rises, falls, gradient], everyone)


def seconds(work: Callable[[Observation], object], reads: PretrainedNetwork, texts: int, length: int) -> float:
    """Return the CPU seconds of a piece of evidence, the lesser of two where these are short."""
    found: list[float] = []
    while len(found) < 2 and sum(found) < 5:
        seen = observed(reads, texts, length)
        found.append(timed(partial(work, seen))[1])
    return min(found)


def exponent(sizes: Sequence[int], spent: Sequence[float]) -> float:
    """Return the slope of the logarithm of seconds over that of sizes, from the second size on."""
    return float(np.polyfit(np.log(sizes[1:]), np.log(spent[1:]), 1)[0])


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=512, help="tokens of the longest texts, at most 4,096")
    parser.add_argument("--texts", type=int, default=2, help="of each length")
    parser.add_argument("--only", nargs="+", help="beginnings of rows, which are read at all lengths, and nothing else is")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    works = {
        "leave-one-out": predictions_without_each,
        "gradient × input": gradient_times_input,
        "which words decide": which_words_decide,
    }
    lengths = [each for each in LENGTHS if each <= typed.longest]
    for what, sizes in (("layers", LAYERS), ("texts", TEXTS), ("tokens", lengths))[2 * bool(typed.only) :]:
        rows = [["evidence", *(f"{size:,} {what}" for size in sizes), "exponent"]]
        for name, work in works.items():
            for kind in ("encoder", "decoder"):
                if typed.only and not f"{name}, {kind}".startswith((*typed.only,)):
                    continue
                spent = []
                for size in sizes:
                    layers = size if what == "layers" else 4
                    texts = size if what == "texts" else typed.texts if what == "tokens" else 8
                    length = size if what == "tokens" else 96
                    spent.append(seconds(work, network(kind == "decoder", layers), texts, length))
                rows.append([f"{name}, {kind}", *(f"{each:.2f} s" for each in spent), f"{exponent(sizes, spent):.2f}"])
        print(markdown_table(rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
