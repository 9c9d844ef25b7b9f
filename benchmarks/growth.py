"""Measure how the cost of evidence grows with length, layers and texts.

    python -m benchmarks.growth --longest 512

This takes three minutes; ``--longest 2048`` takes half an hour, nearly all of it for leave-one-out.

Random Transformers of 128 numbers a token; CPU seconds of one thread. The exponent is the slope of the logarithms from the
second size on: 1 is proportional, 2 is with the square. *Read whole* would be leave-one-out of the decoder without what
stands before a token being reused.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, LlamaConfig, LlamaForSequenceClassification

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
    lengths = [each for each in LENGTHS if each <= parser.parse_args().longest]
    torch.set_num_threads(1)
    works = {"leave-one-out": predictions_without_each, "gradient × input": gradient_times_input}
    for what, sizes in (("layers", LAYERS), ("texts", TEXTS), ("tokens", lengths)):
        rows = [["evidence", *(f"{size:,} {what}" for size in sizes), "exponent"]]
        for name, work in works.items():
            for kind in ("encoder", "decoder"):
                spent = []
                for size in sizes:
                    layers = size if what == "layers" else 4
                    texts = size if what == "texts" else 2 if what == "tokens" else 8
                    length = size if what == "tokens" else 96
                    spent.append(seconds(work, network(kind == "decoder", layers), texts, length))
                rows.append([f"{name}, {kind}", *(f"{each:.2f} s" for each in spent), f"{exponent(sizes, spent):.2f}"])
        print(markdown_table(rows), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
