"""Tokens a second of training, against the literature's way, in one run: ``python benchmarks/training.py``.

Both sides train Jain & Wallace's BiLSTM with additive attention, from the same parameters, on the same batches of 32, on
one thread. The literature's way is that of their released code: one bidirectional LSTM on packed sequences, and three Adam
optimisers that step parameter by parameter. Ours is what ``attest fit`` runs: two LSTMs on padded sequences, one fused
Adam; once in a bare loop, like theirs, and once with all that Lightning adds.

Texts are generated: lengths and vocabulary as in SST and in IMDb below 400 tokens, words by Zipf's law. Before anything is
timed, both sides must agree on the losses of three steps. Rounds alternate, so that whatever else the machine does falls on
all sides.
"""

import argparse
import logging
import os
import platform
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
from pytorch_lightning import Trainer
from torch import Tensor, nn

from attest.datamodules.batching import shuffled_batches
from attest.lightning_modules import Classifier
from attest.models.networks import PoolingClassifier
from benchmarks.published import PublishedClassifier

Batch = dict[str, Tensor]
RECIPE: dict[str, Any] = {"lr": 1e-3, "amsgrad": True}
DECAY = 1e-5


@dataclass(frozen=True)
class Setting:
    """A corpus, as far as speed can tell."""

    name: str
    texts: int
    """Of a whole epoch."""
    vocabulary: int
    mean_length: float
    spread: float
    """Standard deviation of the logarithm of the length."""
    longest: int
    batches: int
    """That are timed in a round; of an epoch if it has no more."""


SETTINGS = (
    Setting("SST", 6355, 13_826, 18.7, 0.45, 52, 60),
    Setting("IMDb", 17_200, 12_487, 180, 0.45, 399, 12),
)


def corpus(setting: Setting) -> list[Batch]:
    """Batches evenly drawn from an epoch."""
    random = np.random.default_rng(0)
    lengths = random.lognormal(np.log(setting.mean_length) - setting.spread**2 / 2, setting.spread, setting.texts)
    lengths = lengths.round().clip(6, setting.longest).astype(int)
    epoch = sorted(shuffled_batches(lengths, 32, seed=0, epoch=0), key=lambda rows: lengths[rows].max())
    chosen = np.linspace(0, len(epoch) - 1, setting.batches).round().astype(int)
    batches = [make_batch(lengths[epoch[index]], setting.vocabulary, random) for index in chosen]
    return [batches[index] for index in random.permutation(len(batches))]


def make_batch(lengths: np.ndarray, vocabulary: int, random: np.random.Generator) -> Batch:
    """One padded batch; words 2 and up, by Zipf's law."""
    mask = torch.arange(int(lengths.max())) < torch.from_numpy(lengths).unsqueeze(-1)
    words = np.exp(random.random(mask.shape) * np.log(vocabulary - 2)).astype(np.int64) + 1
    labels = torch.from_numpy(random.integers(0, 2, len(lengths)))
    return {"token_ids": torch.from_numpy(words) * mask, "mask": mask, "label": labels, "id": torch.arange(len(lengths))}


class Literature:
    """The literature's way: packed sequences, three optimisers, one parameter at a time."""

    def __init__(self, network: PoolingClassifier) -> None:
        self.network = PublishedClassifier(network)
        encoder = [*self.network.embedding.parameters(), *self.network.lstm.parameters()]
        adam: Callable[..., torch.optim.Optimizer] = partial(torch.optim.Adam, **RECIPE, foreach=False, fused=False)
        self.optimisers = [
            adam(encoder, weight_decay=DECAY),
            adam(network.attention_parameters()),
            adam(self.network.decoder.parameters(), weight_decay=DECAY),
        ]

    def train(self, batches: list[Batch]) -> Iterator[float]:
        """Yield the loss of every step."""
        for batch in batches:
            for optimiser in self.optimisers:
                optimiser.zero_grad()
            lengths = batch["mask"].sum(dim=-1)
            _, hidden, attention = self.network.read(self.network.wrap(batch["token_ids"], lengths), lengths)
            probabilities = self.network.decide(hidden, attention)
            loss = nn.functional.binary_cross_entropy(probabilities, batch["label"].to(probabilities), reduction="sum")
            loss.backward()
            for optimiser in self.optimisers:
                optimiser.step()
            yield loss.item()


class Ours:
    """What ``attest fit`` trains, in a bare loop."""

    def __init__(self, network: PoolingClassifier) -> None:
        self.module = classifier(network)
        self.optimiser = self.module.configure_optimizers()
        self.module.log = lambda *_, **__: None  # type: ignore[method-assign]

    def train(self, batches: list[Batch]) -> Iterator[float]:
        """Yield the loss of every step."""
        for index, batch in enumerate(batches):
            self.optimiser.zero_grad()
            loss = self.module.training_step(batch, index)
            loss.backward()
            self.optimiser.step()
            yield loss.item()


def classifier(network: PoolingClassifier) -> Classifier:
    """Our LightningModule around a given network, with Jain & Wallace's optimiser."""
    optimiser = partial(torch.optim.Adam, **RECIPE, weight_decay=DECAY, fused=True)
    return Classifier(lambda *_: network, optimizer=optimiser, loss_reduction="sum")


def in_lightning(network: PoolingClassifier) -> Callable[[list[Batch]], None]:
    """One epoch by a Trainer set up as ``attest fit`` sets it up."""
    options: dict[str, Any] = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary"), False)
    module = classifier(network)

    def train(batches: list[Batch]) -> None:
        trainer = Trainer(max_epochs=1, accelerator="cpu", enable_progress_bar=False, inference_mode=False, **options)
        trainer.fit(module, torch.utils.data.DataLoader(cast(Any, batches), batch_size=None))

    return train


def check_equal(network: Callable[[], PoolingClassifier], batches: list[Batch]) -> None:
    """Both ways lose the same in three steps, so they compute the same thing."""
    theirs, ours = (list(way(network()).train(batches[:3])) for way in (Literature, Ours))
    if not np.allclose(theirs, ours, rtol=1e-4):
        raise SystemExit(f"The two ways differ: losses {theirs} there, {ours} here.")


def compare(setting: Setting, rounds: int) -> None:
    """Print tokens a second of each way, the median over rounds, and the ratios."""

    def network() -> PoolingClassifier:
        torch.manual_seed(0)
        return PoolingClassifier(setting.vocabulary, 1)

    batches = corpus(setting)
    check_equal(network, batches)
    theirs, ours, lightning = Literature(network()), Ours(network()), in_lightning(network())
    ways: dict[str, Callable[[list[Batch]], Any]] = {
        "literature": lambda part: list(theirs.train(part)),
        "ours, bare loop": lambda part: list(ours.train(part)),
        "ours, Lightning": lightning,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for train in ways.values():
        train(batches[:3])  # warm-up
    for _ in range(rounds):
        for name, train in ways.items():
            seconds[name].append(timed(train, batches))
    report(setting, seconds, sum(int(batch["mask"].sum()) for batch in batches))


def timed(train: Callable[[list[Batch]], Any], batches: list[Batch]) -> float:
    """Wall-clock seconds."""
    started = time.perf_counter()
    train(batches)
    return time.perf_counter() - started


def report(setting: Setting, seconds: dict[str, list[float]], tokens: int) -> None:
    """One line a way: tokens a second and times the literature's, each with its spread over rounds."""
    print(f"\n{setting.name}: {setting.batches} batches of 32 texts, {tokens / setting.batches / 32:.0f} tokens on average")
    for name, taken in seconds.items():
        ratios = [base / ours for base, ours in zip(seconds["literature"], taken, strict=True)]
        speeds = sorted(tokens / each for each in taken)
        print(
            f"  {name:<16} {statistics.median(speeds):>8.0f} tokens/s ({speeds[0]:.0f} to {speeds[-1]:.0f})"
            f"   {statistics.median(ratios):>5.2f} x ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def main() -> None:
    """Compare at the lengths of both corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each way is timed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{platform.machine()}, 1 thread, torch {torch.__version__}, commit {commit or 'unknown'}")
    for setting in SETTINGS:
        compare(setting, arguments.rounds)


if __name__ == "__main__":
    main()
