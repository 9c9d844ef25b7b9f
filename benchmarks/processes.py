"""What one process a core gains: the evidence of a trained run on one and on several processes, by turns.

python -m benchmarks.processes runs/imdb/… --processes 2 --rounds 3

It measures the clock, so the cores should be idle. The parts that every process does for itself (copying, the checkpoint, its
Trainer) and that the first does alone (joining tables, writing) are what more cores do not shorten; they are measured on one
process, and the curve on paper is Amdahl's: serial + parallel / processes.
"""

import argparse
import statistics
import time
from pathlib import Path

from attest.runs.evaluating import Apart, RunOnTrial, configuration_of
from attest.runs.folder import RunFolder, read_json
from attest.runs.training import test

ON_PAPER = (1, 2, 4, 8)


def main() -> None:
    """Print a line a round, the ratio, the serial part and the curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("/tmp/attest-processes"))
    asked = parser.parse_args()
    timed: dict[int, list[float]] = {1: [], asked.processes: []}
    alone = 0.0
    for number in range(asked.rounds):
        for processes in timed:
            seconds, measured = _once(asked.run, processes, asked.out)
            timed[processes].append(seconds)
            alone = measured if processes == 1 else alone
        print(f"round {number + 1}: " + ", ".join(f"{each} process(es) {took[-1]:.1f} s" for each, took in timed.items()))
    one, several = (statistics.median(took) for took in timed.values())
    print(f"{asked.processes} processes: {one / several:.2f} times as fast as one (medians of {asked.rounds} rounds)")
    serial = one - alone
    print(f"serial part: {serial:.2f} s of {one:.1f} s")
    for processes in ON_PAPER:
        print(f"on paper, {processes} processes: {one / (serial + alone / processes):.2f} times as fast as one")


def _once(run: Path, processes: int, out: Path) -> tuple[float, float]:
    """Seconds from checkpoint to tables, and those that the experiments say they took, on so many processes."""
    folder = RunFolder(run)
    with configuration_of(folder) as arguments:
        options = [*arguments, f"--run.processes={processes}", "--run.force=true"]
        trial = RunOnTrial(options, folder, folder.best, [], Apart(folder.best, out))
    with trial.prepared():
        for experiment in trial.experiments.values():
            experiment.folder = trial.folder
        started = time.perf_counter()
        test(trial, str(folder.best))
        seconds = time.perf_counter() - started
    return seconds, sum(read_json(trial.folder.timing)["seconds"].values())


if __name__ == "__main__":
    main()
