"""Somebody else's project: a network, a LightningModule and texts that have never heard of ours but for one method.

As a script, ``stranger.py <processes> <table>``, it trains and tests on so many processes and leaves the tables of its three
experiments in ``<table>.<id>.parquet``; both stages run under plain Lightning.
"""

import sys
from typing import Any

import torch
from pytorch_lightning import LightningModule, Trainer, seed_everything
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from attest.callbacks import ActivationSwap, AttentionPermutation, Evidence, FeatureImportance
from attest.core.attention import Softmax, Sparsemax
from attest.experiments import Observation, observe

TEXTS = 21
LABELS = 3


class Network(nn.Module):
    """A GRU, attention, and a decoder that is not linear."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8, padding_idx=0)
        self.gru = nn.GRU(8, 8, batch_first=True)
        self.query = nn.Linear(8, 1)
        self.decoder = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, LABELS))

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.gru(self.embedding(tokens))[0]

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.query(hidden).squeeze(-1)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder((weights.unsqueeze(1) @ hidden).squeeze(1))

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens > 0
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


class Stranger(LightningModule):
    """Batches are pairs of tokens and labels, without mask and without ids."""

    def __init__(self) -> None:
        super().__init__()
        self.network = Network()
        self.observed = 0

    def observe(self, batch: Any) -> Observation:
        self.observed += 1
        tokens, labels = batch
        return observe(self.network, ids=None, tokens=tokens, mask=tokens > 0, labels=labels)

    def _loss(self, batch: Any) -> Tensor:
        tokens, labels = batch
        return functional.cross_entropy(self.network(tokens), labels)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        return self._loss(batch)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("loss", self._loss(batch))

    def test_step(self, batch: Any, batch_idx: int) -> Any:
        self.log("loss", self._loss(batch))

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Texts(Dataset):
    """Texts of 2 to 8 words, the longest last, and their labels."""

    def __init__(self, size: int = TEXTS) -> None:
        generator = torch.Generator().manual_seed(1)
        self.lengths = (2 + torch.arange(size) * 6 / max(size - 1, 1)).long()
        words = torch.randint(1, 20, (size, 8), generator=generator)
        self.tokens = words.where(torch.arange(8) < self.lengths.unsqueeze(-1), 0)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.tokens[row], self.tokens[row, 0] % LABELS


def loader(size: int = TEXTS, **options: Any) -> DataLoader:
    return DataLoader(Texts(size), **{"batch_size": 4} | options)


def experiments() -> list[Evidence]:
    """Three that people look for by name."""
    swap = ActivationSwap({"softmax": Softmax(), "sparsemax": Sparsemax()})
    return [AttentionPermutation(permutations=10), swap, FeatureImportance()]


def trainer(*callbacks: Evidence, **options: Any) -> Trainer:
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    return Trainer(accelerator="cpu", callbacks=list(callbacks), **quiet | options)


def main(processes: str, table: str) -> None:
    torch.set_num_threads(1)
    seed_everything(5)
    callbacks = experiments()
    module = Stranger()
    started = {name: value.clone() for name, value in module.state_dict().items()}
    run = trainer(*callbacks, max_epochs=1, devices=int(processes), strategy="ddp" if processes != "1" else "auto")
    run.fit(module, loader(), loader())
    module.load_state_dict(started)  # steps on other batches train other weights
    run.test(module, loader(), verbose=False)
    if run.is_global_zero:
        for callback in callbacks:
            callback.table.to_parquet(f"{table}.{callback.id}.parquet")


if __name__ == "__main__":
    main(*sys.argv[1:])
