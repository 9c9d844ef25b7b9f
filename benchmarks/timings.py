"""What our own runs on whole corpora took, for forecasts where nothing nearer is there: medians by corpus, model and part.

python -m benchmarks.timings docs/results/runs-*.tar.xz > configs/timings.yaml
"""

import sys
import tarfile
import tempfile
from collections import defaultdict
from pathlib import Path

import yaml

from attest.runs.folder import RunFolder
from attest.runs.past import is_cut, medians, seconds_of

HEADER = "# Seconds that our own runs took, on two cores and in one process: medians. Written by python -m benchmarks.timings"
KEPT = ("timing.json", "summary.json", "curves.json", "config.yaml", "base.json")


def main(archives: list[Path]) -> None:
    """Print the file."""
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for archive in archives:
            _unpack(archive, Path(folder))
        print(yaml.safe_dump(_by_kind(Path(folder)), sort_keys=True), end="")


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        wanted = [member for member in packed if Path(member.name).name in KEPT]
        packed.extractall(folder, wanted, filter="data")


def _by_kind(root: Path) -> dict[str, dict[str, float]]:
    runs = defaultdict(list)
    for timing in sorted(root.rglob("timing.json")):
        if (seconds := seconds_of(RunFolder(timing.parent))) and not is_cut(timing.parent):
            runs[_kind(timing.parent)].append(seconds)
    return {kind: {part: _short(value) for part, value in sorted(medians(of).items())} for kind, of in runs.items()}


def _kind(folder: Path) -> str:
    """``<corpus>/<model>``, and for a dependent run ``/<kind>``."""
    within = list(folder.parts)
    seed = next(place for place, name in enumerate(within) if name.startswith("seed"))
    base = Path(*within[: seed + 1])
    run = RunFolder(base).settings()["run"]
    return "/".join([base.parent.parent.name, run["model"], *within[seed + 1 : seed + 2]])


def _short(seconds: float) -> float:
    return float(f"{seconds:.3g}")


if __name__ == "__main__":
    main(list(map(Path, sys.argv[1:])))
