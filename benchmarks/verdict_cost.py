"""What the experiments of the verdict cost beside all experiments: CPU seconds of a trial, in one process with one thread.

    python -m benchmarks.verdict_cost              # writes docs/results/verdict-cost.md; five minutes
    python -m benchmarks.verdict_cost TEXTS=24     # fewer texts, prints the page

Networks are trained for one short epoch first, which is not counted: what a trial costs does not depend on it. The two trials
of a network take turns; the least of each counts.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import attest
from attest.experiments.registry import EXPERIMENTS
from attest.report.run_tables import markdown_table
from attest.runs.choices import take_words

PAGE = Path("docs/results/verdict-cost.md")
NETWORKS = {"bilstm": "BiLSTM that pools by attention", "transformer-dr": "Transformer of four layers, by rollout"}
TRAINED = ("--data.init_args.train_texts=200", "--trainer.max_epochs=1", "--run.processes=1")
ROUNDS = 2


def tried(run: attest.Run, experiments: Any, texts: int) -> tuple[float, attest.Trial]:
    """Return the CPU seconds of a trial on the first texts of the test split, and the trial."""
    batches, count = [], 0
    for batch in run.split("test"):
        if count < texts:
            batches.append(batch)
            count += len(batch["id"])
    began = time.process_time()
    trial = attest.trial(run.model, batches, experiments, processes=1, progress=False)
    return time.process_time() - began, trial


def row(run: attest.Run, name: str, texts: int) -> list[str]:
    """Return the row of a network: both sets of experiments, their costs and the ratio of these."""
    found: dict[str, list[tuple[float, attest.Trial]]] = {"verdict": [], "all": []}
    for _ in range(ROUNDS):
        for which, experiments in (("verdict", None), ("all", "all")):
            found[which].append(tried(run, experiments, texts))
    few, many = (min(seconds for seconds, _ in each) for each in found.values())
    asked = [", ".join(name for name in EXPERIMENTS if name in each[0][1].experiments) for each in found.values()]
    return [NETWORKS[name], asked[0], f"{few:.1f} s", asked[1], f"{many:.1f} s", f"{few / many:.0%}"]


def page(rows: Sequence[Sequence[str]], texts: int) -> str:
    """Return the page."""
    head = ["network", "the verdict reads", "cost", "all", "cost of all", "share"]
    return "\n\n".join(
        [
            "# What the verdict costs",
            f"CPU seconds of `attest.trial` on about {texts} planted reviews, in one process with one thread, the least of "
            f"{ROUNDS}. A trial that names no experiment runs those that the verdict reads; `all` runs all. Written by: "
            "python -m benchmarks.verdict_cost",
            markdown_table([head, *rows]),
            "Training has a choice for it, `EXPERIMENTS=verdict` (of Transformers `verdict-layers`). Its default stays "
            "`pooled` (of Transformers `layers`): 96 of the 129 rows of published tables name no experiments and take the "
            "default, so that another one would change what their commands measure.",
        ]
    ) + "\n"  # fmt: skip


def main(arguments: list[str]) -> int:
    """Write the page, or print that of fewer texts."""
    words, _ = take_words(arguments)
    texts = words.count("TEXTS", 100)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as root:
        rows = [
            row(attest.train("planted", name, experiments="none", logger="csv", root=root, arguments=TRAINED), name, texts)
            for name in NETWORKS
        ]
    text = page(rows, texts)
    if words.typed:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
