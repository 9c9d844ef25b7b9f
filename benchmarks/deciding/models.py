"""The same models, asked by the old rule and by the measured verdict: the page docs/results/verdicts.md.

    python -m benchmarks.deciding.models run --old <clone at d16c3a90> --runs <folder> --weights <folder>
    python -m benchmarks.deciding.models page

``run`` types the command of each model in models.yaml in both versions of the code, one after the other, and keeps what their
summary.json says. It goes on where it was stopped, and stops a command after 6 minutes. ``page`` writes the page from what was
kept. ``python -m benchmarks.deciding.weights`` makes the models that need a folder.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from attest.runs.folder import write_json, write_text
from benchmarks.deciding.models_page import VERSIONS, page

HERE = Path(__file__).parents[2]
STATED = Path(__file__).with_name("models.yaml")
KEPT = HERE / "docs" / "results" / "deciding" / "verdicts.json"
LIMIT = 360
"""Seconds after which a command is stopped."""
ALL, TOLD = ("verdict", "test/"), ("verdict", "test/", "E19/right")
"""Keys of a summary that are kept: all that begin with the first, and means that begin with the second."""
PAGE = HERE / "docs" / "results" / "verdicts.md"


def stated() -> dict[str, Any]:
    """Return what was stated before any model was run."""
    return dict(yaml.safe_load(STATED.read_text(encoding="utf-8")))


def run(clones: dict[str, Path], runs: Path, weights: Path) -> None:
    """Type every command that has no outcome yet in both versions, and keep the outcome."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    for model in stated()["models"]:
        found = kept.setdefault(model["name"], {})
        for version in VERSIONS:
            if found.get(version, {}).get("words") != model["words"]:
                found[version] = {"words": model["words"], **_typed(model, clones[version], runs / version, weights)}
                print(model["name"], version, found[version], flush=True)
                write_json(KEPT, kept)


def _typed(model: dict[str, str], clone: Path, runs: Path, weights: Path) -> dict[str, Any]:
    """Type a command in a clone, and return its exit code, its seconds, and what its summary says."""
    folder = runs / model["name"].replace(" ", "-").replace(",", "")
    words = model["words"].replace("{data}", os.environ.get("ATTEST_DATA", "")).replace("{weights}", str(weights))
    asked = [*shlex.split(words), f"--out={folder / 'trial'}" if words.startswith("trial") else f"--run.root={folder}"]
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "attest", *asked],
                cwd=clone,
                env=os.environ | {"PYTHONPATH": str(clone)},
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=LIMIT,
                check=False,
            )
            code: int | None = done.returncode
        except subprocess.TimeoutExpired:
            code = None
    summaries = sorted(folder.rglob("summary.json")) if code == 0 else []
    summary = json.loads(summaries[0].read_text(encoding="utf-8")) if summaries else {}
    told = {
        key: value for key, value in summary.items() if key.startswith(TOLD) and (key.endswith("/mean") or key.startswith(ALL))
    }
    return {"code": code, "seconds": round(time.monotonic() - began), "summary": told}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--old", type=Path, help="a clone at the last commit with the old rule")
    parser.add_argument("--runs", type=Path, help="the folder of the runs")
    parser.add_argument("--weights", type=Path, help="the folder that benchmarks.deciding.weights has filled")
    asked = parser.parse_args()
    if asked.what == "run":
        run({"new": HERE, "old": asked.old.resolve()}, asked.runs.resolve(), asked.weights.resolve())
    else:
        write_text(PAGE, page(json.loads(KEPT.read_text(encoding="utf-8")), stated()))


if __name__ == "__main__":
    main()
