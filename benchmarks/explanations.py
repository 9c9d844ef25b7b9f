"""CPU seconds of E1, E14 and E15 on a run's test split, with the samples that ship.

python -m benchmarks.explanations --run runs/sst/jw-bilstm-additive-softmax/seed0
"""

import argparse
import tempfile
import time
from collections import Counter
from typing import Any

import torch

from attest.app.cli.evidence import main as gather
from attest.callbacks.evidence import Evidence

EXPERIMENTS = ("E1", "E14", "E15")


def cpu_seconds(run: str) -> Counter[str]:
    """By experiment, of one process with one thread; what they share, the observed forward pass, is left out."""
    spent: Counter[str] = Counter()
    collect = Evidence._collect

    def timed(self: Evidence, *arguments: Any) -> None:
        started = time.process_time()
        collect(self, *arguments)
        spent[self.id] += time.process_time() - started

    torch.set_num_threads(1)
    Evidence._collect = timed  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as out:
            gather(["--run", run, *EXPERIMENTS, f"--out={out}", "--run.processes=1", "FORCE=1"])
    finally:
        Evidence._collect = collect  # type: ignore[method-assign]
    return spent


def main() -> None:
    """Print a line an experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="a run folder")
    for experiment, seconds in sorted(cpu_seconds(parser.parse_args().run).items()):
        print(f"{experiment:5} {seconds:6.2f} s of CPU")


if __name__ == "__main__":
    main()
