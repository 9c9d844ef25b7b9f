"""Try the tests of attention on networks whose attention is right or wrong.

    python -m benchmarks.judges constructed        # docs/results/judges.md and the findings that reports quote
    python -m benchmarks.judges constructed --smoke --defendant mine.py:Name
    python -m benchmarks.judges trained            # docs/results/judges-trained.md, after the constructed ones

``constructed`` runs every experiment that gives one number for each text, on networks whose attention is right or wrong by
construction. configs/judges/constructed.yaml lists the tests and their directions. A defendant of your own takes a rule and
offers encode, score, project, decode, forward, and carrying_states(tokens, mask); it names its rules in ``rules``. From
Python, attest.judge asks a metric of your own.

``trained`` trains networks on the rules of configs/judges/trained.yaml, alone and in pairs, runs the same tests on them, and
compares the two rankings of the tests.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml
from rich.console import Console
from rich.progress import track

from attest.core.errors import AttestError
from attest.core.memory import cores
from attest.experiments.experiment_errors import SHIPPED
from attest.judges.metric import STATED, stated_with
from attest.runs.folder import RunFolder
from benchmarks.judges.constructed import SMALLER, in_checkout, stamp, try_constructed
from benchmarks.judges.trained_page import TRAINED as PAGES
from benchmarks.judges.trained_page import write_trained
from benchmarks.judges.training import all_heard, asked_for

TRAINED = STATED.with_name("trained.yaml")
SMALLER_TRAINED = {
    "rules": ["token"],
    "networks": ["average", "transformer"],
    "guided": ["average"],
    "projections": ["softmax"],
    "seeds": [0],
    "texts": 12,
    "layered_texts": 4,
}


def main(arguments: Sequence[str]) -> None:
    """Run one of the two studies and write its results."""
    parser = argparse.ArgumentParser("python -m benchmarks.judges", description=__doc__)
    parser.add_argument("study", choices=("constructed", "trained"))
    parser.add_argument("--smoke", action="store_true", help="a smaller try")
    parser.add_argument("--defendant", help="file.py:Name, a defendant of your own, beside the constructed ones")
    parser.add_argument("--results", type=Path, help="the folder to write into; by default docs/results of a checkout")
    typed = parser.parse_args(arguments)
    shipped = in_checkout() and not typed.smoke and typed.results is None and typed.defendant is None
    folder = typed.results or Path("docs/results" if shipped else "runs/judges")
    torch.set_num_threads(1)  # networks are small: threads would wait for one another
    with RunFolder(folder).claimed():
        if typed.study == "constructed":
            findings = SHIPPED if shipped else folder / "findings.json"
            try_constructed(folder, findings, typed.smoke, typed.defendant)
        else:
            try_trained(folder, typed.smoke)


def try_trained(folder: Path, smoke: bool) -> None:
    """Train networks, judge the tests on them, and compare the result with that on constructed networks in the folder."""
    if not (folder / "judges.parquet").is_file():
        raise AttestError(
            f"{folder / 'judges.parquet'} does not exist; expected the results on constructed defendants, to compare trained "
            f"ones with. Type first: python -m benchmarks.judges constructed{' --smoke' if smoke else ''}"
        )
    constructed = stated_with({}) | (SMALLER if smoke else {})
    stated = _read(TRAINED) | {name: constructed[name] for name in ("bootstrap", "tolerance")}
    stated |= SMALLER_TRAINED if smoke else {}
    heard = all_heard(stated, constructed["tests"], constructed["settings"], cores())
    trained = _shown(heard, "Networks:", len(asked_for(stated)))
    judged = pd.read_parquet(folder / "judges.parquet")
    print(write_trained(folder, trained, judged, stated, constructed["tests"], stamp(TRAINED, smoke, [])))
    print(f"Judges:     {folder / PAGES.name}.html", flush=True)


def _shown(found: Any, what: str, count: int) -> list[Any]:
    """Return all that is found, while a bar shows how much there is."""
    console = Console(stderr=True)
    return list(track(found, what, count, console=console, disable=not console.is_terminal, transient=True))


def _read(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
