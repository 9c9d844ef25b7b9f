"""A run that stops itself in the middle of something: ``python -m benchmarks.ambush <phase> <n> <signal> <counts> fit …``.

The n-th call of what a phase consists of sends the signal to this process, half way through where something is written. With
n = 0 nothing is sent. Where the run lives to tell, it writes how often each phase was entered into the file ``counts``.
"""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from attest.app import training as run_command
from attest.app.cli import main as cli
from attest.app.configured import ConfiguredRun
from attest.callbacks.evidence import Evidence
from attest.lightning_modules import Classifier

Trap = Callable[[], None]


def before(original: Callable, trap: Trap) -> Callable:
    """Return the function, called after the trap."""

    def trapped(*arguments: Any, **options: Any) -> Any:
        trap()
        return original(*arguments, **options)

    return trapped


def after(original: Callable, trap: Trap) -> Callable:
    """Return the function, followed by the trap."""

    def trapped(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        trap()
        return result

    return trapped


def half_a_checkpoint(original: Callable, trap: Trap) -> Callable:
    """Return a ``torch.save`` that meets the trap when half of the file is there."""

    def trapped(content: Any, file: Any) -> None:
        original(content, file)
        file.flush()
        _halved(Path(file.name), trap)

    return trapped


def half_a_table(original: Callable, trap: Trap) -> Callable:
    """Return a ``to_parquet`` that meets the trap when half of the file is there."""

    def trapped(rows: pd.DataFrame, path: Path, **options: Any) -> None:
        original(rows, path, **options)
        _halved(path, trap)

    return trapped


def _halved(path: Path, trap: Trap) -> None:
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    trap()
    path.write_bytes(whole)


PHASES: dict[str, tuple[Any, str, Callable[[Callable, Trap], Callable]]] = {
    "set-up": (ConfiguredRun, "instantiate_trainer", before),
    "opening the folder": (ConfiguredRun, "_open_folder", after),
    "training": (Classifier, "training_step", before),
    "validation": (Classifier, "validation_step", before),
    "analysis at validation end": (Evidence, "on_validation_batch_end", before),
    "evidence on test": (Evidence, "on_test_batch_end", before),
    "half a checkpoint": (torch, "save", half_a_checkpoint),
    "half a table": (pd.DataFrame, "to_parquet", half_a_table),
    "before a file gets its name": (Path, "replace", before),
    "after a file got its name": (Path, "replace", after),
    "report": (run_command, "write_report", before),
}
"""What is stopped: where the function is, its name, and how it is met."""


def lay(phase: str, call: int, number: int) -> Counter[str]:
    """Set every trap, the one of ``phase`` to send signal ``number`` at this call; returns the counts as they grow."""
    met: Counter[str] = Counter()

    def trap_of(name: str) -> Trap:
        def trap() -> None:
            met[name] += 1
            if name == phase and met[name] == call:
                os.kill(os.getpid(), number)

        return trap

    for name, (place, attribute, meet) in PHASES.items():
        setattr(place, attribute, meet(getattr(place, attribute), trap_of(name)))
    return met


def main(arguments: Sequence[str]) -> int:
    """Run ``attest`` with the trap set.

    Args:
        arguments: phase, number of the call, name of the signal, file of the counts, and what ``attest`` is asked.
    """
    phase, call, name, counts, *asked = arguments
    met = lay(phase, int(call), signal.Signals[name])
    code = cli.main(asked)
    Path(counts).write_text(json.dumps(met))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
