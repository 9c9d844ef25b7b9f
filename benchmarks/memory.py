"""Peak memory of every experiment on the longest texts of a corpus, beside the budget: one batch, one fresh peak each.

    python -m benchmarks.memory --data imdb

Attention is that of an untrained BiLSTM of Jain & Wallace's sizes: what is learned takes no memory.
"""

import argparse
import resource
from collections.abc import Callable, Sequence
from functools import partial

import torch

from attest.core.attention import Softmax, Sparsemax
from attest.core.catalogue import CATALOGUE
from attest.core.memory import longest_quadratic, memory_budget, set_memory_budget
from attest.datamodules.batching import batches_by_length
from attest.datamodules.labelled import stored_corpora
from attest.experiments import (
    Observation,
    activation_swap,
    adversarial_attention,
    attention_permutation,
    erasure_until_flip,
    feature_importance,
    importance_entropy,
    observe,
    single_erasure,
)
from attest.models.networks import BiLSTM, PoolingClassifier
from benchmarks.measuring import Cost

SEARCH = {"restarts": 5, "steps": 5, "seed": 0}
"""Steps take time, not memory."""
EXPERIMENTS: dict[str, Callable[[Observation], object]] = {
    "E1 gradients": partial(feature_importance, leave_one_out=False),
    "E2": partial(attention_permutation, permutations=100, seed=0),
    "E3": partial(adversarial_attention, **SEARCH),
    "E8": lambda seen: activation_swap(seen, {"softmax": Softmax(), "sparsemax": Sparsemax()}, torch.zeros_like(seen.ids)),
    "E10": lambda seen: importance_entropy(seen, seen.ids, leave_one_out=False),
    "E11": partial(single_erasure, seed=0),
    "E12": partial(erasure_until_flip, seed=0),
    "E1 with leave-one-out": feature_importance,
}
MIB = 1 << 20


def peak_mib(work: Callable[[], object]) -> float:
    """Return by how much the resident memory rises at the most while this is done, in MiB; Linux."""
    cost = Cost()
    cost.of(work, memory=True)
    return cost.peak / MIB


def longest_batch(name: str, texts: int) -> dict[str, torch.Tensor]:
    """Return the longest test texts of a corpus as published, in one batch, and its vocabulary's size."""
    data = stored_corpora()[name](protocol="plain")
    rows = batches_by_length(data.test.sizes, 32)[-1][-texts:]
    return data.test.__getitems__(rows) | {"words": torch.tensor(data.vocab_size)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=[*CATALOGUE], default="imdb")
    parser.add_argument("--texts", type=int, default=8, help="how many of the longest")
    parser.add_argument("--memory-gib", type=float, default=1.0)
    typed = parser.parse_args(arguments)
    torch.manual_seed(0)
    set_memory_budget(typed.memory_gib)
    batch = longest_batch(typed.data, typed.texts)
    network = PoolingClassifier(int(batch["words"]), 1, partial(BiLSTM, embedding_size=300, hidden_size=128)).eval()
    seen: list[Observation] = []
    forward = peak_mib(lambda: seen.append(observe(network, batch["id"], batch["token_ids"], batch["mask"])))
    texts, tokens = batch["mask"].shape
    shortest = batch["mask"].sum(dim=-1).min()
    print(f"{typed.data}: {texts} texts of {shortest} to {tokens} tokens; budget {memory_budget() / MIB:.0f} MiB")
    print(f"Tokens are compared pair by pair in texts of up to {longest_quadratic()}.\n")
    print(f"| experiment | peak above model and batch, MiB |\n| --- | --- |\n| the observed forward pass | {forward:.0f} |")
    for name, experiment in EXPERIMENTS.items():
        print(f"| {name} | {peak_mib(partial(experiment, seen[0])):.0f} |", flush=True)
    print(f"\nThe process at its peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
