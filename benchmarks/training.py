"""What a training step costs beside the leanest loop: ``python -m benchmarks.training --data sst --epochs 2 --rounds 3``.

*Ours* is ``attest fit`` of Jain & Wallace's BiLSTM, with all that a run does in a step: checks, logs, the curves and a
checkpoint every 100 batches; what happens between epochs is not counted. *Theirs* is a loop in plain PyTorch that nobody
would want to have: its batches are padded, wrapped in <SOS> and <EOS> and reversed before it begins, and it checks nothing,
logs nothing and keeps nothing. CPU seconds of one thread, by turns.

Both begin with the same parameters and read the same batches, and must end with the same parameters: *apart* is the mean
difference between both ends, as a share of the mean change from the beginning. Training makes rounding larger, so look at it
after one epoch: on SST it is 1.5e-6 there, and 0.02 after two, where a start that is moved by 1e-7 ends 0.03 apart.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn import functional

from attest.app.cli.main import main as attest
from attest.models.networks.tokens import reversal

OPTIONS = ["EXPERIMENTS=none", "LOGGER=csv", "MODEL=bilstm", "RECIPE=jw", "--run.evidence_while_training=false"]


@dataclass
class Seen:
    """What a run was given, what became of it, and what its steps cost."""

    state: dict[str, Tensor] = field(default_factory=dict)
    weight: float = 1.0
    batches: list[dict[str, Tensor]] = field(default_factory=list)
    seconds: float = 0.0
    trained: dict[str, Tensor] = field(default_factory=dict)


class Clock(Callback):
    """A callback that notes batches, parameters and the CPU seconds from the first step of an epoch to its last."""

    seen = Seen()

    def on_train_start(self, trainer: Trainer, pl_module: Any) -> None:
        self.seen.state, self.seen.weight = _copy(pl_module.network), pl_module.positive_weight

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self.seen.batches.append(batch)
        if batch_idx == 0:
            self._began = time.process_time()

    def on_train_batch_end(self, trainer: Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if trainer.is_last_batch:
            self.seen.seconds += time.process_time() - self._began
            self.seen.trained = _copy(pl_module.network)


class Lean(nn.Module):
    """The same classifier without a check, an intervention or a choice."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__()
        words = torch.cat([state["encoder.embedding.weight"], state["encoder.boundaries"]])
        self.embedding = nn.Embedding.from_pretrained(words, freeze=False, padding_idx=0)
        self.onward, self.backward = (self._lstm(state, f"encoder.{name}_lstm.") for name in ("forward", "backward"))
        self.projection, self.alignment, self.decoder = (
            self._linear(state, name) for name in ("attention.scoring.projection", "attention.scoring.alignment", "decoder")
        )

    @staticmethod
    def _lstm(state: dict[str, Tensor], prefix: str) -> nn.LSTM:
        own = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        size, hidden = own["weight_ih_l0"].shape[1], own["weight_hh_l0"].shape[1]
        lstm = nn.LSTM(size, hidden, batch_first=True)
        lstm.load_state_dict(own)
        return lstm

    @staticmethod
    def _linear(state: dict[str, Tensor], name: str) -> nn.Linear:
        weight, bias = state[f"{name}.weight"], state.get(f"{name}.bias")
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
        linear.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
        return linear

    def forward(self, onward: Tensor, backward: Tensor, mirror: Tensor, padding: Tensor) -> Tensor:
        first, second = self.onward(self.embedding(onward))[0], self.backward(self.embedding(backward))[0]
        hidden = torch.cat([first, second.flatten(0, 1).index_select(0, mirror).view_as(second)], dim=-1)[:, 1:-1]
        scores = self.alignment(torch.tanh(self.projection(hidden))).squeeze(-1)
        attention = scores.masked_fill(padding, -torch.inf).softmax(dim=-1)
        return self.decoder((attention.unsqueeze(1) @ hidden).squeeze(1)).squeeze(-1)

    def named(self) -> dict[str, Tensor]:
        """Return the parameters by the names that they have in ours."""
        words = self.embedding.weight.detach()
        lstms = {"forward": self.onward, "backward": self.backward}
        found = {
            f"encoder.{one}_lstm.{name}": value for one, lstm in lstms.items() for name, value in lstm.state_dict().items()
        }
        linear = {"attention.scoring.projection": self.projection, "attention.scoring.alignment": self.alignment}
        linear["decoder"] = self.decoder
        found |= {f"{one}.{name}": value for one, layer in linear.items() for name, value in layer.state_dict().items()}
        return found | {"encoder.embedding.weight": words[:-2], "encoder.boundaries": words[-2:]}


def prepared(batch: dict[str, Tensor], words: int) -> tuple[Tensor, ...]:
    """Return a batch in the form that the lean loop reads."""
    tokens, mask = batch["token_ids"], batch["mask"]
    lengths = mask.sum(dim=-1)
    ended = torch.cat([tokens, torch.zeros_like(tokens[:, :1])], dim=1).scatter(1, lengths[:, None], words + 1)
    onward = torch.cat([torch.full_like(tokens[:, :1], words), ended], dim=1)
    back = reversal(lengths + 2, onward.shape[1])
    mirror = (torch.arange(len(back))[:, None] * back.shape[1] + back).flatten()
    return onward, onward.gather(1, back), mirror, ~mask, batch["label"].float()


def lean_loop(given: Seen) -> tuple[float, Lean]:
    """Train as plainly as possible; return CPU seconds and the network."""
    network = Lean(given.state)
    attending: list[nn.Parameter] = [*network.projection.parameters(), *network.alignment.parameters()]
    others = [each for each in network.parameters() if not any(each is attends for attends in attending)]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": attending, "weight_decay": 0.0}]
    optimizer = torch.optim.Adam(groups, lr=1e-3, amsgrad=True, weight_decay=1e-5, fused=True)
    batches = [prepared(batch, len(given.state["encoder.embedding.weight"])) for batch in given.batches]
    began = time.process_time()
    for *texts, labels in batches:
        optimizer.zero_grad()
        weights = torch.where(labels == 1, given.weight, 1.0)
        functional.binary_cross_entropy_with_logits(network(*texts), labels, weights, reduction="sum").backward()
        optimizer.step()
    return time.process_time() - began, network


def _copy(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def _sum(differences: Iterable[Tensor]) -> Tensor:
    return torch.stack([difference.abs().double().sum() for difference in differences]).sum()


def main() -> None:
    """Print a line a round, and how far the parameters of both are apart at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="sst")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    asked, more = parser.parse_known_args()
    torch.set_num_threads(1)
    for number in range(asked.rounds):
        seen = Clock.seen = Seen()
        with tempfile.TemporaryDirectory() as root:
            ours = [
                "--trainer.callbacks+=benchmarks.training.Clock",
                f"--trainer.max_epochs={asked.epochs}",
                f"--run.root={root}",
            ]
            attest(["fit", f"DATA={asked.data}", *OPTIONS, *ours, *more])
        theirs, network = lean_loop(seen)
        ends = [(seen.trained[name], value, seen.state[name]) for name, value in network.named().items()]
        apart = float(_sum(one - other for one, other, _ in ends) / _sum(one - start for one, _, start in ends))
        steps, ratio = len(seen.batches), seen.seconds / theirs
        both = f"ours {1000 * seen.seconds / steps:.1f} ms a step, theirs {1000 * theirs / steps:.1f} ms"
        print(f"round {number + 1}, {steps} steps: {both}: {ratio:.2f} ×; apart {apart:.1e}", flush=True)


if __name__ == "__main__":
    import_module("benchmarks.training").main()  # whose Clock is the one that the command imports
