"""Stop a small real run at many moments, take it up by the same command, and compare it with the undisturbed run.

    make crash                                          # 50 moments; an hour on one core
    python -m benchmarks.crashes --moments 6 --seed 1   # a few

Moments fall into every phase of a run in turn, SIGKILL and SIGTERM alternately, at a call that the seed chooses; and at any
time between start and end. Everything that a run is judged by must come out bit for bit the same.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import cycle, islice, product
from pathlib import Path

import torch

from attest.report.run_tables import markdown_table
from attest.runs.folder import TEMPORARY, RunFolder, read_json
from benchmarks.ambush import PHASES

ANY_TIME = "any time"
SIGNALS = (signal.SIGKILL, signal.SIGTERM)
RUN = (
    *("DATA=planted", "--data.init_args.rule=token", "--data.init_args.train_texts=320"),
    *("--data.init_args.validation_texts=64", "--data.init_args.test_texts=40"),
    "--model.init_args.network.init_args.encoder.init_args.embedding_size=16",
    "--model.init_args.network.init_args.encoder.init_args.hidden_size=8",
    *("--trainer.max_epochs=3", "--trainer.enable_progress_bar=false", "--run.checkpoint_every_n_batches=3"),
    *(f"--experiments.{experiment}=null" for experiment in ("E3", "E10", "E11", "E12", "E13", "E14", "E15")),
    "--run.processes=1",
)
"""10 batches an epoch, 3 epochs, then instances, E1, E2 and E8 on 40 test texts."""


@dataclass(frozen=True)
class Moment:
    """A moment at which a run is stopped, and the signal."""

    phase: str
    how: signal.Signals
    share: float
    """Of the phase's calls, or of the run's time, that lie before it; in [0, 1)."""


@dataclass(frozen=True)
class Outcome:
    """The end of a run that was stopped and taken up: each field is a column of the table, and should be True."""

    stopped: bool
    """The signal ended the process, rather than coming too late."""
    completed: bool
    weights: bool
    """Parameters and optimiser states of both checkpoints are the undisturbed run's, bit for bit."""
    evidence: bool
    """Every table, and the learning curves, byte for byte."""
    summary: bool
    wandb_id: bool
    """One id before and after, in all of W&B's folders."""
    tidy: bool
    """Nothing half written is left."""


def moments(count: int, seed: int) -> list[Moment]:
    """Return so many moments, all phases and both signals in turn."""
    dice = random.Random(seed)
    kinds = islice(cycle(product((*PHASES, ANY_TIME), SIGNALS)), count)
    return [Moment(phase, how, dice.random()) for phase, how in kinds]


class Laboratory:
    """The runs side by side below one folder, the first of them undisturbed."""

    def __init__(
        self,
        root: Path,
        attest: Sequence[str] = (sys.executable, "-m", "attest"),
        ambush: Sequence[str] = (sys.executable, "-m", "benchmarks.ambush"),
    ) -> None:
        """Args:
        root: the folder.
        attest: the command that takes runs up.
        ambush: the command of runs that are stopped.
        """
        self.root, self.attest, self.ambush = root, attest, ambush
        started = time.monotonic()
        self._victim(root / "undisturbed", Moment("none", signal.SIGKILL, 0), call=0).wait()
        self.seconds = time.monotonic() - started
        self.counts: dict[str, int] = json.loads((root / "counts.json").read_text())
        self.undisturbed = only_run(root / "undisturbed")

    def try_out(self, number: int, moment: Moment) -> Outcome:
        """Stop a run at this moment, take it up, compare."""
        root = self.root / str(number)
        code = self._stopped(root, moment)
        identity = _wandb_id(root)
        command = [*self.attest, "fit", *RUN, f"--run.root={root}"]
        completed = subprocess.run(command, env=_environment(), stdout=subprocess.DEVNULL).returncode == 0
        if not completed:
            return Outcome(code != 0, *[False] * (len(fields(Outcome)) - 1))
        run = only_run(root)
        return Outcome(
            stopped=code in (-moment.how, 128 + moment.how),
            completed=completed,
            weights=all(_same_weights(getattr(run, name), getattr(self.undisturbed, name)) for name in ("best", "last")),
            evidence=_same_files(run, self.undisturbed, ["curves.json", *_tables(self.undisturbed)]),
            summary=_same_files(run, self.undisturbed, ["summary.json"]),
            wandb_id=_one_id(run, identity),
            tidy=not list(root.rglob(f"*{TEMPORARY}")),
        )

    def _stopped(self, root: Path, moment: Moment) -> int:
        """Return the exit code of a run that was stopped."""
        if moment.phase != ANY_TIME:
            return self._victim(root, moment, 1 + int(moment.share * self.counts[moment.phase])).wait()
        victim = self._victim(root, moment, call=0)
        try:
            return victim.wait(timeout=moment.share * self.seconds)
        except subprocess.TimeoutExpired:
            victim.send_signal(moment.how)
            return victim.wait()

    def _victim(self, root: Path, moment: Moment, call: int) -> subprocess.Popen:
        trap = [moment.phase, str(call), moment.how.name, str(self.root / "counts.json")]
        command = [*self.ambush, *trap, "fit", *RUN, f"--run.root={root}"]
        silence = subprocess.DEVNULL
        return subprocess.Popen(command, env=_environment(), stdout=silence, stderr=silence)


def _environment() -> dict[str, str]:
    """Return the environment of a run: one thread, W&B offline and without a service that a kill would leave busy."""
    inherited = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}
    return inherited | {"OMP_NUM_THREADS": "1", "WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1"}


def only_run(root: Path) -> RunFolder:
    """Return the one run below a root."""
    (config,) = root.glob("*/*/seed*/config.yaml")
    return RunFolder(config.parent)


def _wandb_id(root: Path) -> str | None:
    """Return the W&B id of the stopped run; None if it was stopped before it had one."""
    found = list(root.glob("*/*/seed*/timing.json"))
    return read_json(found[0])["wandb_id"] if found else None


def _one_id(run: RunFolder, before: str | None) -> bool:
    identity = read_json(run.timing)["wandb_id"]
    logged = {folder.name.rpartition("-")[2] for folder in run.path.glob("wandb/offline-run-*")}
    return before in (None, identity) and logged == {identity}


def _same_weights(ours: Path, theirs: Path) -> bool:
    left, right = (torch.load(path, weights_only=True) for path in (ours, theirs))
    return all(_equal(left.get(part), right.get(part)) for part in ("state_dict", "optimizer_states", "lr_schedulers"))


def _equal(left: object, right: object) -> bool:
    """Return whether nested plain data with tensors in it are equal."""
    if isinstance(left, torch.Tensor):
        return isinstance(right, torch.Tensor) and torch.equal(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right


def _tables(run: RunFolder) -> list[str]:
    return [f"evidence/{path.name}" for path in sorted(run.path.glob("evidence/*.parquet"))]


def _same_files(ours: RunFolder, theirs: RunFolder, names: Sequence[str]) -> bool:
    return all((ours.path / name).read_bytes() == (theirs.path / name).read_bytes() for name in names)


def table(tried: Sequence[tuple[Moment, Outcome]]) -> str:
    """Return a table in Markdown: a row for each phase and signal, how many moments, and how many of them came out right."""
    columns = [field.name for field in fields(Outcome)]
    kinds = list(dict.fromkeys((moment.phase, moment.how) for moment, _ in tried))
    rows = [["phase", "signal", "moments", *columns]]
    for phase, how in kinds:
        outcomes = [outcome for moment, outcome in tried if (moment.phase, moment.how) == (phase, how)]
        right = [str(sum(getattr(outcome, column) for outcome in outcomes)) for column in columns]
        rows.append([phase, how.name, str(len(outcomes)), *right])
    return markdown_table(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 where a run that was taken up differs from the undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=50, help="how many runs are stopped")
    parser.add_argument("--seed", type=int, default=0, help="chooses the moments")
    typed = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as root:
        laboratory = Laboratory(Path(root))
        tried = []
        for number, moment in enumerate(moments(typed.moments, typed.seed)):
            tried.append((moment, laboratory.try_out(number, moment)))
            print(number, moment, tried[-1][1], file=sys.stderr, flush=True)
    print(table(tried))
    return int(not all(getattr(outcome, field.name) for _, outcome in tried for field in fields(Outcome)[1:]))


if __name__ == "__main__":
    sys.exit(main())
