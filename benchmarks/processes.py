"""What one process a core gains: the evidence of a trained run on one and on several processes, by turns.

python -m benchmarks.processes runs/imdb/… --processes 2 --rounds 3

It measures the clock, so the cores should be idle. The parts that every process does for itself (copying, the checkpoint, its
Trainer) and that the first does alone (joining tables, writing) are what more cores do not shorten; they are measured on one
process, and the curve on paper is Amdahl's: serial + parallel / processes. Beside the ratio stands the most that this machine
allows: what so many processes reach that share nothing, each with a loop of its own. Virtual cores may be halves of real ones.
"""

import argparse
import statistics
import time
from multiprocessing import get_context
from pathlib import Path

import torch

from attest.app.evaluating import RunOnTrial, configuration_of
from attest.app.training import test
from attest.runs.folder import RunFolder, read_json

ON_PAPER = (1, 2, 4, 8)
LOOPS = 10_000


def main() -> None:
    """Print a line a round, the ratio, the serial part and the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("/tmp/attest-processes"))
    asked = parser.parse_args()
    timed: dict[int, list[float]] = {1: [], asked.processes: []}
    serial, ceilings = [], []
    for number in range(asked.rounds):
        ceilings.append(_ceiling(asked.processes))
        for processes in timed:
            seconds, measured = _once(asked.run, processes, asked.out)
            timed[processes].append(seconds)
            if processes == 1:
                serial.append(seconds - measured)
        took = ", ".join(f"{each} process(es) {took[-1]:.1f} s" for each, took in timed.items())
        print(f"round {number + 1}: {took}; the machine allows {ceilings[-1]:.2f}", flush=True)
    one, several = (statistics.median(took) for took in timed.values())
    ratio, ceiling = one / several, statistics.median(ceilings)
    print(f"{asked.processes} processes: {ratio:.2f} times as fast as one (medians of {asked.rounds} rounds)")
    print(f"the machine allows {ceiling:.2f}: {ratio / ceiling:.0%} of it are reached")
    alone = statistics.median(serial)
    print(f"serial part: {alone:.2f} s of {one:.1f} s")
    for processes in ON_PAPER:
        print(f"on paper, {processes} processes: {one / (alone + (one - alone) / processes):.2f} times as fast as one")


def _ceiling(processes: int) -> float:
    """Return how many times the work of one process several do that share nothing but the machine."""
    return processes * _together(1) / _together(processes)


def _together(processes: int) -> float:
    """Return the seconds until so many copies of this process have each done the same loop."""
    copies = [get_context("fork").Process(target=_loop) for _ in range(processes)]
    started = time.perf_counter()
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    return time.perf_counter() - started


def _loop() -> None:
    """Do for some seconds what evidence does most: a small matrix product and an activation."""
    state_BH, weights_HH = torch.ones(512, 128), torch.full((128, 128), 1 / 128)
    for _ in range(LOOPS):
        state_BH = torch.tanh(state_BH @ weights_HH)


def _once(run: Path, processes: int, out: Path) -> tuple[float, float]:
    """Return the seconds from checkpoint to tables, and those that the experiments say they took, on so many processes."""
    folder = RunFolder(run)
    options = [*configuration_of(folder), f"--run.processes={processes}", "--run.force=true"]
    trial = RunOnTrial(options, folder, folder.best, [], apart=True, out=out)
    torch.set_num_threads(1)
    with trial.prepared():
        started = time.perf_counter()
        test(trial, str(folder.best), list(trial.experiments))
        seconds = time.perf_counter() - started
    return seconds, sum(read_json(trial.folder.timing)["seconds"].values())


if __name__ == "__main__":
    main()
