"""Which finished runs lie below some folders."""

from collections.abc import Iterable
from pathlib import Path

from attest.errors import AttestError
from attest.runs.folder import RunFolder


def find_runs(paths: Iterable[Path]) -> list[RunFolder]:
    """The finished runs at or below some folders, in the order given, none twice.

    Raises:
        AttestError: a folder holds no finished run.
    """
    found: dict[Path, RunFolder] = {}
    for path in paths:
        summaries = [path / "summary.json"] if (path / "summary.json").is_file() else sorted(path.rglob("summary.json"))
        runs = [RunFolder(summary.parent) for summary in summaries if (summary.parent / "config.yaml").is_file()]
        if not runs:
            raise AttestError(f"{path} holds no finished run; expected a run folder or one that holds some, such as runs/sst.")
        found |= {run.path.resolve(): run for run in runs}
    return list(found.values())
